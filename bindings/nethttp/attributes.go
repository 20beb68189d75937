package nethttp

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// attributes answers for what `per` names.
type attributes struct {
	req    *http.Request
	route  string
	server bool // the request came in, it does not go out
	s      *settings
}

// lookup returns the value of an attribute other than key, empty for none.
func (a *attributes) lookup(attribute string) string {
	r := a.req
	kind, name, _ := strings.Cut(attribute, ":")
	switch kind {
	case "ip":
		return clientIP(r, a.s.trusted)
	case "host":
		return a.host()
	case "method":
		return method(r)
	case "path":
		return r.URL.EscapedPath()
	case "route":
		if a.route == "" {
			return r.Pattern
		}
		return a.route
	case "header":
		if name == "host" {
			return hostOf(r)
		}
		return r.Header.Get(name)
	case "cookie":
		if c, err := r.Cookie(name); err == nil {
			return c.Value
		}
	case "query":
		return query(r.URL.RawQuery, name)
	}
	return ""
}

// host is the virtual host of a request that came in, whatever port the client
// wrote behind it, and the dependency of one that goes out: two ports are two
// dependencies.
func (a *attributes) host() string {
	if a.server {
		return strings.ToLower(withoutPort(a.req.Host))
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

// withoutPort returns a host without its port, and one of IPv6 without its
// brackets.
func withoutPort(hostport string) string {
	colon := strings.LastIndexByte(hostport, ':')
	if colon < 0 || strings.HasSuffix(hostport, "]") || strings.IndexByte(hostport, ':') < colon && hostport[0] != '[' {
		return strings.Trim(hostport, "[]")
	}
	return strings.Trim(hostport[:colon], "[]")
}

// query returns the first value of a parameter without parsing the others.
func query(raw, name string) string {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		key, value, _ := strings.Cut(pair, "=")
		if key != name {
			decoded, err := url.QueryUnescape(key)
			if err != nil || decoded != name {
				continue
			}
		}
		if decoded, err := url.QueryUnescape(value); err == nil {
			return decoded
		}
	}
	return ""
}

// clientIP is the address of the peer, or, while that is a trusted hop, the one
// that the hop says it had the request from. Lines of X-Forwarded-For count in
// their order. What a hop wrote that is no address ends the search: nobody
// beyond it can be believed.
func clientIP(r *http.Request, trusted []netip.Prefix) string {
	peer, ok := address(r.RemoteAddr)
	if !ok {
		return r.RemoteAddr
	}
	if len(trusted) == 0 {
		return peer.String()
	}
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		rest := lines[i]
		for rest != "" {
			if !isTrusted(peer, trusted) {
				return peer.String()
			}
			hop := rest
			if cut := strings.LastIndexByte(rest, ','); cut >= 0 {
				hop, rest = rest[cut+1:], rest[:cut]
			} else {
				rest = ""
			}
			next, ok := address(strings.TrimSpace(hop))
			if !ok {
				return peer.String()
			}
			peer = next
		}
	}
	return peer.String()
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
