// Package routes finds the route of a request in a policy document.
//
//	table := routes.New(doc)
//	match, err := table.Match(r.Host, r.Method, r.URL.EscapedPath())
//
// Paths are compared as servers understand them: percent-decoded once, dot segments
// resolved, several slashes as one. A match has the form in which the path must be
// forwarded, so that the upstream serves the path that was compared. A path that
// servers read in different ways is refused.
//
// The routes are in trees of path segments, one for each host of the document. The
// cost of a match depends on the length of the path and not on the number of routes.
package routes
