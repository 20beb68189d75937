package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/http1"
)

// upstream is one of the servers that requests go to.
type upstream struct {
	name      string   // as it was configured
	url       *url.URL // as the transport needs it: of http or https
	transport *http1.Transport
	reach     *reach
	slots     *slots // nil where connections have no bound

	// The rest is used where there are several.
	load  atomic.Int64 // requests under way, their answers included
	state upstreamState
	meter upstreamMeter
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// newUpstream returns the upstream of a URL: of http for HTTP/1.1, of https for what
// ALPN chooses of HTTP/2 and HTTP/1.1, of h2c for HTTP/2 without TLS.
func newUpstream(at *url.URL, c *Config, secure *tls.Config, spares *spares) *upstream {
	to := *at
	transport := NewTransport()
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: pingAfter}
	transport.TLSClientConfig = secure.Clone() // a transport adds what ALPN needs
	transport.MaxResponseHeaderBytes = int64(c.Headers.Bytes)
	if at.Scheme == "h2c" {
		to.Scheme = "http"
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	if c.ConnectTimeout > 0 {
		transport.DialContext = connects(c.ConnectTimeout)
	}
	if c.UpstreamIdleTimeout > 0 {
		transport.IdleConnTimeout = c.UpstreamIdleTimeout
	}
	if c.dial != nil {
		transport.DialContext = c.dial
	}
	u := &upstream{name: at.String(), url: &to, reach: newReach(&to, spares.guard(transport.DialContext))}
	transport.DialContext = u.reach.dial
	if c.UpstreamConnections > 0 {
		u.slots = newSlots(c.UpstreamConnections, cmp.Or(c.ConnectTimeout, defaultConnectTimeout))
		transport.DialContext = u.slots.bound(u.reach.dial, func() { u.transport.CloseIdleConnections() })
	}
	if c.NetHTTP {
		u.transport = http1.Over(transport)
	} else {
		u.transport = http1.New(transport, u.url)
	}
	return u
}

// connects returns a dialer that gives up after a time.
func connects(timeout time.Duration) dialer {
	return (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}).DialContext
}

// connect makes the transport to the upstreams.
func (s *Server) connect() (err error) {
	c := &s.config
	secure, err := s.tls.toUpstreams(c.UpstreamCA)
	if err != nil {
		return err
	}
	for _, at := range c.Upstreams {
		u := newUpstream(at, c, secure, &s.spares)
		if s.alerts != nil {
			u.reach.changed = func(down bool, err error) { s.alerts.reached(u.name, down, err) }
		}
		s.upstreams = append(s.upstreams, u)
	}
	if len(s.upstreams) == 1 {
		s.transport = s.upstreams[0].transport
		return nil
	}
	if err = addEjections(c, s.upstreams, s.alerts); err != nil {
		return err
	}
	measure(s.upstreams, s.meter.registry)
	s.pool = &pool{upstreams: s.upstreams, random: c.random}
	if c.random == nil {
		s.pool.random = rand.IntN
	}
	s.transport = s.pool
	return nil
}

// names returns the names of upstreams for the log.
func names(upstreams []*upstream) string {
	var list []string
	for _, u := range upstreams {
		list = append(list, u.name)
	}
	return strings.Join(list, " ")
}

// reachable returns why no upstream can be connected to, nil while one can.
func reachable(ctx context.Context, upstreams []*upstream) error {
	for _, u := range upstreams {
		if !u.reach.failed.Load() {
			return nil
		}
	}
	errs := make(chan error, len(upstreams))
	for _, u := range upstreams {
		go func() { errs <- u.reach.check(ctx) }()
	}
	var err error
	for range upstreams {
		if err = <-errs; err == nil {
			return nil
		}
	}
	return err
}

// unsent reports whether an error of a round tripper says that there was no connection,
// so that the upstream got nothing of the request.
func unsent(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns) || errors.As(err, &certificate)
}
