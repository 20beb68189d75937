package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/policy/tree"
)

// Route tells a proxy which policy a request passes.
type Route struct {
	// Path is a pattern: segments between slashes, of which * stands for any
	// one that is not empty, and ** for any number, none included.
	Path string
	// Methods that match; empty for all.
	Methods []string
	// Host in lower case, or *.HOST for all below it; empty for all.
	Host string
	// Policy is the name of a policy of the document.
	Policy string
	// Line and Column of the route in the document, from 1.
	Line, Column int
}

// Match reports whether the route matches a request: its host without the port,
// its method, and its path as it was sent, without the query. A host matches
// whatever its case, everything else byte by byte.
func (r *Route) Match(host, method, path string) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, method) {
		return false
	}
	return matchHost(r.Host, host) && matchPath(r.Path, path)
}

// matchHost reports whether a host is the pattern's, or below it.
func matchHost(pattern, host string) bool {
	if below, star := strings.CutPrefix(pattern, "*"); star {
		cut := len(host) - len(below)
		return cut > 0 && strings.EqualFold(host[cut:], below)
	}
	return pattern == "" || strings.EqualFold(pattern, host)
}

// matchPath walks over both, and after a mismatch goes back to the last ** and
// lets it take one segment more.
func matchPath(pattern, path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false
	}
	rest, left := pattern, path
	again, from := "", ""
	for left != "" {
		segment, behind := cutSegment(left)
		want, next := cutSegment(rest)
		switch {
		case rest != "" && want == "**":
			again, from = next, left
			rest = next
			if rest == "" {
				return true
			}
		case rest != "" && (want == segment || want == "*" && segment != ""):
			rest, left = next, behind
		case again != "":
			_, from = cutSegment(from)
			rest, left = again, from
		default:
			return false
		}
	}
	return strings.ReplaceAll(rest, "/**", "") == ""
}

// cutSegment splits a path that begins with a slash behind its first segment.
func cutSegment(path string) (segment, rest string) {
	path = path[min(1, len(path)):]
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// routes reads the list of routes; names are the policies that there are.
func (p place) routes(names map[string]bool) []Route {
	if p.node.Kind != tree.List {
		p.mistyped("a list of routes")
		return nil
	}
	if n := len(p.node.Items); n > MaxRoutes {
		p.fail(strconv.Itoa(n)+" routes", "at most "+strconv.Itoa(MaxRoutes), "")
	}
	list := make([]Route, len(p.node.Items))
	for i := range list {
		list[i] = p.item(i).route(names)
	}
	return list
}

// route reads one route.
func (p place) route(names map[string]bool) Route {
	r := Route{Line: p.node.Line, Column: p.node.Column}
	f, ok := p.fields("a route: a map of path, method, host and policy", "path", "method", "host", "policy")
	if !ok {
		return r
	}
	if v, ok := f.need("path", pathText); ok {
		r.Path = v.routePath()
	}
	if v, ok := f.get("method"); ok {
		r.Methods = v.methods()
	}
	if v, ok := f.get("host"); ok {
		r.Host = v.routeHost()
	}
	if v, ok := f.need("policy", "the name of a policy"); ok {
		r.Policy = v.routePolicy(names)
	}
	return r
}

// pathText is what every error about a path allows.
const pathText = "a path that begins with a slash, as in /api/**"

// routePath reads the pattern of a path.
func (p place) routePath() string {
	path, ok := p.text(pathText)
	if !ok {
		return ""
	}
	if !strings.HasPrefix(path, "/") {
		p.fail(describe(p.node), pathText, "")
		return path
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' || r == '?' || r == '#' }) {
		p.fail(describe(p.node), pathText+", without a query, in the characters that a request has: ASCII, others as %XX", "")
		return path
	}
	for _, segment := range strings.Split(path, "/") {
		switch {
		case segment == "." || segment == "..":
			p.fail(describe(p.node), pathText+", without the segments . and ..", "")
			return path
		case strings.Contains(segment, "*") && segment != "*" && segment != "**":
			p.fail(describe(p.node), "* for one segment between slashes, ** for any number of them; "+quote(segment)+" is neither", "")
			return path
		}
	}
	return path
}

// routeHost reads a host, or *. and a host.
func (p place) routeHost() string {
	const allowed = "a host in lower case without a port, as in api.example.com, or *.example.com for all below it"
	host, ok := p.text(allowed)
	if !ok || validHost(host) {
		return host
	}
	near := ""
	if lower := strings.ToLower(host); len(host) <= longestName && validHost(lower) {
		near = lower
	}
	p.fail(describe(p.node), allowed, near)
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

// routePolicy reads the name of a policy of the document.
func (p place) routePolicy(names map[string]bool) string {
	name, ok := p.text("the name of a policy")
	if !ok || names[name] {
		return name
	}
	if p.full() {
		p.mistyped("the name of a policy")
		return name
	}
	known := make([]string, 0, len(names))
	for one := range names {
		known = append(known, one)
	}
	slices.Sort(known)
	const most = 8
	allowed := "the name of a policy of this document"
	if len(known) > 0 && len(known) <= most {
		allowed += ": " + orList(known)
	}
	p.fail("the policy "+quote(name)+", which is not there", allowed, nearest(name, known))
	return name
}
