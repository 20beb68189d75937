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

// rewrite makes the request that goes to the upstream, for httputil.ReverseProxy, which
// has removed the headers of hops.
func (s *Server) rewrite(p *httputil.ProxyRequest) {
	from := s.peer(p.In)
	if from.trusted {
		keepHops(p.In.Header, p.Out.Header)
	} else {
		for name := range p.Out.Header {
			if tellsOfHops(name) {
				delete(p.Out.Header, name)
			}
		}
	}
	s.forward(p.In, p.Out.Header, from)
	s.address(p)
}

// keepHops puts the headers of hops back, also those that Connection lists.
func keepHops(in, out http.Header) {
	for _, name := range []string{forwarded, forwardedFor, forwardedHost, forwardedProto} {
		if lines := in[name]; len(lines) > 0 {
			out[name] = slices.Clip(lines)
		}
	}
}

// address sets where a request goes. Its path is the one that the routes compared, its
// query the client's, byte by byte.
func (s *Server) address(p *httputil.ProxyRequest) {
	query := p.In.URL.RawQuery
	p.SetURL(s.upstreams[0].url)
	p.Out.URL.RawQuery = query
	if s.config.PreserveHost {
		p.Out.Host = p.In.Host
	}
}

// peer is who sent a request.
type peer struct {
	address netip.Addr // invalid where it is unknown
	trusted bool       // what it says of the hops before it
}

func (s *Server) peer(r *http.Request) peer {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return peer{}
	}
	return peer{at.Addr().Unmap().WithZone(""), within(s.config.Trusted, at)}
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
// hops before it is there, and the hop itself comes behind it; what another client says
// is not.
func (s *Server) forward(r *http.Request, out http.Header, from peer) {
	_, told := r.Header[forwarded]
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
	if from.address.IsValid() {
		hops := from.address.String()
		if lines := out[forwardedFor]; len(lines) > 0 {
			hops = strings.Join(lines, ", ") + ", " + hops
		}
		set(0, forwardedFor, hops)
	}
	if len(out[forwardedHost]) == 0 {
		set(1, forwardedHost, r.Host)
	}
	if len(out[forwardedProto]) == 0 {
		set(2, forwardedProto, proto)
	}
	if told {
		out.Add(forwarded, element(from, r.Host, proto))
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
func element(peer peer, host, proto string) string {
	from := "unknown"
	if peer.address.IsValid() {
		from = peer.address.String()
		if peer.address.Is6() {
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
