package document

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// Route tells a proxy which policy a request passes.
type Route struct {
	// Path is a pattern: segments between slashes, where * matches any one that is
	// not empty, and ** any number, none included. Package routes finds the route of
	// a request.
	Path string
	// Methods that match; empty for all.
	Methods []string
	// Host in lower case, or *.HOST for all below it; empty for all.
	Host string
	// Policy is the name of a policy of the document, empty for a route whose requests
	// pass without a policy.
	Policy string
	// HTTP has the settings of the document, replaced by the settings of the route.
	HTTP HTTP
	// Line and Column of the route in the document, from 1.
	Line, Column int
}

// routes reads the list of routes behind the policies of the document.
func (r *reader) routes(n *tree.Node, doc *Document, names string) {
	if n.Kind != tree.List {
		r.mistyped(n, "a list of routes")
		return
	}
	r.atMost(MaxRoutes, n, "$x routes")
	doc.Routes = make([]Route, len(n.Items))
	for i, item := range n.Items {
		one := &doc.Routes[i]
		one.HTTP = doc.HTTP
		r.route(item, one, doc, names)
	}
}

// route reads one route.
func (r *reader) route(n *tree.Node, one *Route, doc *Document, names string) {
	one.Line, one.Column = n.Line, n.Column
	var f fields
	if !f.read(r, n, "a route: a map of path, method, host and policy", "path method host policy http") {
		return
	}
	if n := f.need("path", pathText); n != nil {
		one.Path = r.routePath(n)
	}
	if n := f.get("method"); n != nil {
		one.Methods = r.methods(n)
	}
	if n := f.get("host"); n != nil {
		one.Host = r.routeHost(n)
	}
	if n := f.need("policy", policyText); n != nil {
		one.Policy = r.routePolicy(n, doc, names)
	}
	if n := f.get("http"); n != nil {
		r.http(n, routeSettings, &one.HTTP)
	}
}

// pathText is what every error about a path allows.
const pathText = "a path that begins with a slash, as in /api/**"

// routePath reads the pattern of a path.
func (r *reader) routePath(n *tree.Node) string {
	if !r.isText(n, pathText) {
		return ""
	}
	path := n.Text
	if !strings.HasPrefix(path, "/") {
		r.mistyped(n, pathText)
		return path
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '?' || r == '#' }) {
		r.mistyped(n, pathText+", without a query, in the characters that a request has: ASCII, others as %XX")
		return path
	}
	for _, segment := range strings.Split(path, "/") {
		switch {
		case segment == "." || segment == "..":
			r.mistyped(n, pathText+", without the segments . and ..")
			return path
		case strings.Contains(segment, "*") && segment != "*" && segment != "**":
			r.mistyped(n, "* for one segment between slashes, ** for any number of them; $w is neither").word = quote(segment)
			return path
		}
	}
	return path
}

// routeHost reads a host, or *. and a host.
func (r *reader) routeHost(n *tree.Node) string {
	const allowed = "a host in lower case without a port, as in api.example.com, or *.example.com for all below it"
	if !r.isText(n, allowed) {
		return ""
	}
	host := n.Text
	if validHost(host) {
		return host
	}
	near := ""
	if plain := lower(host); len(host) <= longestName && validHost(plain) {
		near = plain
	}
	r.mistyped(n, allowed).near = near
	return host
}

// validHost reports whether a host is labels of lower-case letters, digits and
// hyphens between dots, the first of them perhaps a star.
func validHost(host string) bool {
	labels := strings.Split(strings.TrimPrefix(host, "*."), ".")
	return !slices.ContainsFunc(labels, func(label string) bool {
		return !validName(label) || strings.HasSuffix(label, "-")
	})
}

// Pass is the word of a document for passage without a policy.
const Pass = "pass"

// policyText is what every error about the policy of a route allows.
const policyText = "pass, or the name of a policy of this document"

// routePolicy reads the name of a policy of the document, empty for pass. That word keeps
// its meaning where a policy has the name, as in http.default.
func (r *reader) routePolicy(n *tree.Node, doc *Document, names string) string {
	switch {
	case !r.isText(n, policyText), n.Text == Pass:
		return ""
	case doc.Lookup(n.Text) == nil:
		r.unknownPolicy(n, Pass, names)
	}
	return n.Text
}
