package nethttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/internal/requests"
	"github.com/sluice-go/sluice/internal/routes"
	"github.com/sluice-go/sluice/policy/document"
)

// attributes answers for what `per` names.
type attributes struct {
	req    *http.Request
	target target
	server bool // the request came in, it does not go out
	proxy  bool // and a Proxy sends it on
	s      *settings
}

// lookup returns the value of an attribute other than key, empty for none.
func (a *attributes) lookup(attribute string) string {
	r := a.req
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
	case "ip":
		ip, ok := clientIP(r, a.s.trusted)
		if !ok {
			return r.RemoteAddr // of a peer without an address, as on a unix socket
		}
		return valueOf(ip, a.s.ipv6)
	case "host":
		return a.host()
	case "method":
		return method(r)
	case "path":
		return a.path()
	case "route":
		if a.target.route == "" {
			return r.Pattern
		}
		return a.target.route
	case "header":
		if name == "host" {
			return hostOf(r)
		}
		if a.proxy && (isOfConnection(name) || namesHops(name) && !a.fromTrusted()) {
			return "" // the upstream does not get it
		}
		lines := r.Header[http.CanonicalHeaderKey(name)]
		switch {
		case len(lines) == 0:
			return ""
		case a.server || len(lines) == 1:
			return requests.Field(name, lines[0]) // check has found no other value
		}
		// RFC 9110 section 5.3: several lines are one list.
		return strings.Join(lines, ", ")
	case "cookie":
		return cookie(r, name).Value
	case "query":
		value, _ := requests.Query(r.URL.RawQuery, name)
		return value
	}
	return ""
}

// check refuses a request that came in with a key that can be read in two ways:
// the upstream might serve it as another's than whose limit it takes.
func (a *attributes) check(v *view) error {
	if !a.server {
		return nil
	}
	for _, attribute := range v.sent {
		kind, name, _ := strings.Cut(attribute, ":")
		plain := true
		switch kind {
		case "header":
			plain = isPlainHeader(a.req.Header, name)
		case "cookie":
			plain = !cookie(a.req, name).Several
		case "query":
			_, plain = requests.Query(a.req.URL.RawQuery, name)
		}
		if !plain {
			return &RequestError{Status: http.StatusBadRequest, Reason: "key", Detail: "The request has more than one " + kind + " " + name + "."}
		}
	}
	return nil
}

// path is the path in the form in which routes compare it, one for all spellings.
func (a *attributes) path() string {
	path, err := pathOf(a.req.URL)
	if err != nil {
		path = a.req.URL.EscapedPath()
	}
	if a.target.http != nil && a.target.http.Paths == document.PathsExactBytes {
		return path
	}
	clean, err := routes.Clean(path)
	if err != nil {
		return path
	}
	return routes.Key(clean)
}

// host is the virtual host of a request that came in, whatever port the client
// wrote behind it, and the dependency of one that goes out: two ports are two
// dependencies.
func (a *attributes) host() string {
	if a.server {
		return routes.Host(a.req.Host)
	}
	host := strings.ToLower(a.req.URL.Host)
	switch a.req.URL.Scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

// hostOf is the Host header that the request has or will have.
func hostOf(r *http.Request) string {
	if r.Host == "" {
		return r.URL.Host
	}
	return r.Host
}

func method(r *http.Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return r.Method
}

// isPlainHeader reports whether a header has one value only, under one name: to
// what speaks CGI, a header with underscores is one with hyphens.
func isPlainHeader(h http.Header, name string) bool {
	lines := h[http.CanonicalHeaderKey(name)]
	for _, line := range lines {
		if line != lines[0] && requests.Field(name, line) != requests.Field(name, lines[0]) {
			return false
		}
	}
	if strings.IndexByte(name, '-') < 0 {
		return true
	}
	for other := range h {
		if len(other) == len(name) && strings.IndexByte(other, '_') >= 0 && strings.EqualFold(strings.ReplaceAll(other, "_", "-"), name) {
			return false
		}
	}
	return true
}

// isOfConnection reports whether a proxy removes a field, in lower case, because it is about
// one connection.
func isOfConnection(name string) bool {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "trailer", "transfer-encoding":
		return true
	}
	return false
}

// namesHops reports whether a field, in lower case, is one in which a hop names the hops
// before it. Proxies replace what others write there.
func namesHops(name string) bool {
	switch name {
	case "forwarded", "x-real-ip", "client-cert", "client-cert-chain":
		return true
	}
	return strings.HasPrefix(name, "x-forwarded-")
}

// fromTrusted reports whether a trusted hop has sent the request.
func (a *attributes) fromTrusted() bool {
	peer, ok := address(a.req.RemoteAddr)
	return ok && isTrusted(peer, a.s.trusted)
}

// removeListed removes the fields of a request that its Connection names, before the policy
// is asked: a proxy behind would remove them, and its upstream would serve a request without
// the key by which it was counted.
func removeListed(h http.Header) {
	if lines := h["Connection"]; len(lines) > 0 {
		removeNamed(h, lines)
	}
}

// removeNamed is removeListed where there is a Connection, of these lines.
func removeNamed(h http.Header, connection []string) {
	for _, line := range connection {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.ToLower(strings.Trim(name, " \t")); requests.Removable(name) {
				delete(h, http.CanonicalHeaderKey(name))
			}
		}
	}
}

// cookie returns what a request says of a cookie.
func cookie(r *http.Request, name string) (c requests.Cookie) {
	for _, line := range r.Header["Cookie"] {
		c.Add(line, name)
	}
	return c
}

// valueOf returns an address as a value of ip: of IPv6 with the number of bits
// that are its key, since a client may have all addresses of such a network.
func valueOf(ip netip.Addr, bits int) string {
	if ip.Is4() || bits == 128 {
		return ip.String()
	}
	return netip.PrefixFrom(ip, bits).String()
}

// clientIP is the address of the peer, false where it has none, or, while that is a trusted hop, the one
// that the hop says it had the request from. Lines of X-Forwarded-For count in
// their order. What a hop wrote that is no address ends the search: no hop
// beyond it can be trusted.
func clientIP(r *http.Request, trusted []netip.Prefix) (netip.Addr, bool) {
	peer, ok := address(r.RemoteAddr)
	if !ok || len(trusted) == 0 {
		return peer, ok
	}
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		rest := lines[i]
		for rest != "" {
			if !isTrusted(peer, trusted) {
				return peer, true
			}
			hop := rest
			if cut := strings.LastIndexByte(rest, ','); cut >= 0 {
				hop, rest = rest[cut+1:], rest[:cut]
			} else {
				rest = ""
			}
			next, ok := address(strings.TrimSpace(hop))
			if !ok {
				return peer, true
			}
			peer = next
		}
	}
	return peer, true
}

func isTrusted(a netip.Addr, prefixes []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}

// address reads an address with or without a port. One of IPv4 has one form.
func address(text string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	alone, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return alone.Unmap().WithZone(""), err == nil
}
