package serve

import (
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
)

// The headers by which hops tell of the hops before them.
const (
	forwarded      = "Forwarded" // RFC 7239
	forwardedFor   = "X-Forwarded-For"
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
)

// rewrite makes the request that goes to the upstream. Its path is the one that the
// routes compared, its query that of the client, byte by byte.
func (s *Server) rewrite(p *httputil.ProxyRequest) {
	s.forward(p.In, p.Out.Header)
	query := p.In.URL.RawQuery
	p.SetURL(s.upstreams[0].url)
	p.Out.URL.RawQuery = query
	if s.config.PreserveHost {
		p.Out.Host = p.In.Host
	}
}

// viaVersion is the version in which a request came in, as Via names it (RFC 9110
// section 7.6.3).
func viaVersion(r *http.Request) string {
	if r.ProtoMajor == 1 {
		return strings.TrimPrefix(r.Proto, "HTTP/")
	}
	return "2"
}

// forward tells the upstream who sent the request. What a trusted hop says of the
// hops before it is passed on, with the hop itself behind it; what another client
// says is dropped.
func (s *Server) forward(r *http.Request, out http.Header) {
	in := r.Header
	peer, known := netip.ParseAddrPort(r.RemoteAddr)
	_, told := in[forwarded]
	if known == nil && within(s.config.Trusted, peer) {
		for _, name := range []string{forwarded, forwardedFor, forwardedHost, forwardedProto} {
			if lines := in[name]; len(lines) > 0 {
				out[name] = slices.Clone(lines)
			}
		}
	} else {
		for name := range out {
			if tellsOfHops(name) {
				delete(out, name)
			}
		}
	}
	if s.config.TLS.Forward {
		tellCertificate(r, out)
	}
	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	values := make([]string, 4) // of headers with one line
	set := func(i int, name, value string) {
		values[i] = value
		out[name] = values[i : i+1 : i+1]
	}
	if known == nil {
		from := peer.Addr().Unmap().WithZone("").String()
		if lines := out[forwardedFor]; len(lines) > 0 {
			from = strings.Join(lines, ", ") + ", " + from
		}
		set(0, forwardedFor, from)
	}
	if len(out[forwardedHost]) == 0 {
		set(1, forwardedHost, r.Host)
	}
	if len(out[forwardedProto]) == 0 {
		set(2, forwardedProto, proto)
	}
	if told {
		out.Add(forwarded, element(peer, known == nil, r.Host, proto))
	}
	via := viaVersion(r) + " " + s.name
	if lines := out["Via"]; len(lines) > 0 {
		out["Via"] = append(slices.Clone(lines), via)
	} else {
		set(3, "Via", via)
	}
}

// limitPriority drops the priority of a request that no trusted hop has sent. An
// underscore is a hyphen to servers that make variables of headers.
func (s *Server) limitPriority(r *http.Request) {
	own := s.config.PriorityHeader
	if own == "" || contains(s.config.Trusted, r.RemoteAddr) {
		return
	}
	for name := range r.Header {
		if len(name) == len(own) && strings.EqualFold(strings.ReplaceAll(name, "_", "-"), strings.ReplaceAll(own, "_", "-")) {
			delete(r.Header, name)
		}
	}
}

// element is an element of Forwarded. A host has neither quotes nor backslashes.
func element(peer netip.AddrPort, known bool, host, proto string) string {
	from := "unknown"
	if known {
		from = peer.Addr().Unmap().WithZone("").String()
		if peer.Addr().Unmap().Is6() {
			from = `"[` + from + `]"`
		}
	}
	return "for=" + from + `;host="` + host + `";proto=` + proto
}

// tellsOfHops reports whether a header is one by which a client could pretend to be a
// hop. An underscore is a hyphen to servers that make variables of headers.
func tellsOfHops(name string) bool {
	if len(name) < len(forwarded) || !strings.ContainsRune("cfx", rune(name[0]|0x20)) {
		return false
	}
	plain := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	return plain == "forwarded" || plain == "x-real-ip" || strings.HasPrefix(plain, "x-forwarded") ||
		plain == "client-cert" || plain == "client-cert-chain"
}
