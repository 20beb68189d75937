package serve

import (
	"context"
	"net"
	"net/http"
	"slices"
	"time"
)

// DefaultMaxStreams is how many requests a client may have under way on a connection of
// HTTP/2, unless the configuration says. RFC 9113 section 6.5.2 recommends at least
// 100; it is also how many requests a connection can send into a queue of a policy.
const DefaultMaxStreams = 250

// pingAfter is how long a connection of HTTP/2 may be silent before a ping asks whether
// the peer is there. Without an answer within 15 s, the default of net/http, the
// connection is closed, so that a peer that vanished holds nothing for longer.
const pingAfter = 30 * time.Second

// front returns the server of the proxy: HTTP/1.1 and HTTP/2, chosen by ALPN with TLS
// and by the preface of the client (prior knowledge, RFC 9113 section 3.3) without. An
// upgrade to h2c is not offered: requests after it would not pass the policy.
func (s *Server) front() *http.Server {
	server := s.server(s.handler())
	server.DisableGeneralOptionsHandler = true // OPTIONS * is counted and logged as any request
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: s.config.MaxStreams, SendPingTimeout: pingAfter}
	server.ConnState = handedOver
	if server.TLSConfig = s.tls.config(); server.TLSConfig == nil {
		server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
			return withClientConn(withHeldHeaders(ctx, conn), conn)
		}
		server.Protocols.SetUnencryptedHTTP2(true)
		return server
	}
	server.ConnContext = withHeldHeaders
	server.Protocols.SetHTTP2(true)
	for _, protocol := range []string{"h2", "http/1.1"} {
		if !slices.Contains(server.TLSConfig.NextProtos, protocol) {
			server.TLSConfig.NextProtos = append(server.TLSConfig.NextProtos, protocol)
		}
	}
	return server
}

// serveFront serves the connections of a listener, with TLS where the server has it.
func serveFront(server *http.Server, l net.Listener) error {
	if server.TLSConfig != nil {
		return server.Serve(newTLSListener(l, server.TLSConfig, server.ErrorLog.Printf))
	}
	return server.Serve(clientListener{l})
}
