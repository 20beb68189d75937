package routes

import (
	"strings"

	"github.com/sluice-go/sluice/policy/document"
)

// Table is the routes of a document. It is immutable.
type Table struct {
	doc *document.Document
	// Routes that compare the clean form, and those that compare bytes.
	clean, bytes forest
	patterns     [][]segment // of each route, nil for one that nothing matches
}

// Match is the result of a table for a request.
type Match struct {
	// Route is the first that matches, nil when none does. Index is its place in
	// the document, -1 for none.
	Route *document.Route
	Index int
	// HTTP has the settings of the route, or the settings of the document.
	HTTP *document.HTTP
	// Path is the form of the path that was compared, escaped. A request must be
	// forwarded with it.
	Path string
}

// New makes the table of a document, which must not change afterwards.
func New(doc *document.Document) *Table {
	t := &Table{doc: doc, patterns: make([][]segment, len(doc.Routes))}
	for i := range doc.Routes {
		r := &doc.Routes[i]
		exact := r.HTTP.Paths == document.PathsExactBytes
		pattern, ok := parsePattern(r.Path, exact)
		if !ok {
			continue
		}
		t.patterns[i] = pattern
		t.forest(r).root(r.Host).add(pattern, methodsOf(r.Methods), int32(i))
	}
	return t
}

// forest returns the trees that a route belongs to.
func (t *Table) forest(r *document.Route) *forest {
	if r.HTTP.Paths == document.PathsExactBytes {
		return &t.bytes
	}
	return &t.clean
}

// Match returns the first route of a document that matches the host, the method and
// the escaped path without the query of a request. The host may have a port, a dot at
// its end, and any case. The error is a *PathError.
func (t *Table) Match(host, method, path string) (Match, error) {
	if path == "" {
		path = "/"
	}
	host, bit := Host(host), methodBit(method)
	m := Match{Index: -1, HTTP: &t.doc.HTTP, Path: path}
	best := none
	if path[0] == '/' {
		best = t.bytes.find(host, bit, path, none, true)
	}
	if !t.cleans() {
		return t.matched(m, best), nil
	}
	clean, err := Clean(path)
	if err == nil && clean[0] == '/' {
		first := t.clean.find(host, bit, clean, best, false)
		err = t.checkParams(host, bit, clean, best, first)
		if first < best {
			m.Path = clean
			best = first
		} else if best == none {
			m.Path = clean
		}
	}
	m = t.matched(m, best)
	switch exact := m.HTTP.Paths == document.PathsExactBytes; {
	case exact:
		m.Path = path
		return m, nil
	case err != nil:
		return m, err
	case m.HTTP.Paths == document.PathsStrict && clean != path:
		return m, errUnclean
	}
	return m, nil
}

// cleans reports whether paths are cleaned at all. A document without routes
// compares nothing.
func (t *Table) cleans() bool {
	return t.doc.HTTP.Paths == document.PathsStrict || len(t.doc.Routes) > 0
}

// matched fills in the route of an index.
func (t *Table) matched(m Match, best int32) Match {
	if best != none {
		m.Index = int(best)
		m.Route = &t.doc.Routes[best]
		m.HTTP = &m.Route.HTTP
	}
	return m
}

// checkParams refuses a path with parameters (;a=b) for which another route is
// the first without them: some servers ignore parameters, others do not. A route
// that has a semicolon in its own path says which the upstream is.
func (t *Table) checkParams(host string, method uint16, clean string, before, first int32) error {
	if strings.IndexByte(clean, ';') < 0 || first < before && strings.IndexByte(t.doc.Routes[first].Path, ';') >= 0 {
		return nil
	}
	bare, err := Clean(withoutParams(clean))
	if err == nil && t.clean.find(host, method, bare, before, false) != first {
		err = errParams
	}
	return err
}

// find returns the first route before an index that matches, else the index.
func (f *forest) find(host string, method uint16, path string, before int32, exact bool) int32 {
	best := before
	f.trees(host, func(root *node) {
		var room, other [usual]*node
		nodes, spare := enter(room[:0], root, best), other[:0]
		for rest := path; rest != "" && len(nodes) > 0; {
			s := segment{}
			if s.text, rest = cutSegment(rest); !exact {
				s.text = decode(s.text)
			}
			nodes, spare = step(spare, nodes, s, best), nodes
		}
		best = firstEnd(nodes, method, best)
	})
	return best
}

// Reachable reports whether any request has the route of an index as its first
// match, and else which route in front of it matches all its requests; -1 when
// its pattern matches no path.
func (t *Table) Reachable(index int) (by int, ok bool) {
	pattern := t.patterns[index]
	if pattern == nil {
		return -1, false
	}
	r := &t.doc.Routes[index]
	last := none
	for bit := uint16(1); bit <= otherMethod; bit <<= 1 {
		if methodsOf(r.Methods)&bit == 0 {
			continue
		}
		best := int32(index)
		t.forest(r).trees(r.Host, func(root *node) {
			nodes := enter(nil, root, best)
			for _, s := range pattern {
				nodes = step(nil, nodes, s, best)
			}
			best = firstEnd(nodes, bit, best)
		})
		if best == int32(index) {
			return 0, true
		}
		if last == none || best > last {
			last = best
		}
	}
	return int(last), false
}

// parsePattern returns the segments of the path of a route, and false for one
// that no path matches.
func parsePattern(path string, exact bool) ([]segment, bool) {
	if !exact {
		var err error
		if path, err = Clean(path); err != nil {
			return nil, false
		}
	}
	var list []segment
	for rest := path; rest != ""; {
		s := segment{}
		s.text, rest = cutSegment(rest)
		switch {
		case s.text == "*":
			s.kind = single
		case s.text == "**":
			s.kind = anyNumber
		case !exact:
			s.text = decode(s.text)
		}
		list = append(list, s)
	}
	return list, true
}

// The bits of methods are in the order of document.MethodNames. All other methods
// share one bit, which a route without methods has too.
const (
	getMethod   = 1 << 0
	headMethod  = 1 << 1
	otherMethod = 1 << 9
	allMethods  = otherMethod<<1 - 1
)

// methodBit returns the bit of a method; the empty one is GET.
func methodBit(method string) uint16 {
	if method == "" {
		return getMethod
	}
	bit := uint16(1)
	for name := range strings.FieldsSeq(document.MethodNames) {
		if name == method {
			return bit
		}
		bit <<= 1
	}
	return otherMethod
}

// methodsOf returns the bits of the methods of a route. GET includes HEAD, which
// servers answer by the same code.
func methodsOf(methods []string) uint16 {
	if len(methods) == 0 {
		return allMethods
	}
	bits := uint16(0)
	for _, method := range methods {
		bits |= methodBit(method)
	}
	if bits&getMethod != 0 {
		bits |= headMethod
	}
	return bits
}

// Host returns a host as routes compare it: in lower case, without its port, the
// dot at its end, and the brackets of an IPv6 address.
func Host(hostport string) string {
	host := hostport
	colon := strings.LastIndexByte(host, ':')
	if colon >= 0 && !strings.HasSuffix(host, "]") && (strings.IndexByte(host, ':') == colon || host[0] == '[') {
		host = host[:colon]
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
