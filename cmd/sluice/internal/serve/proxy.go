package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// handler returns the proxy.
func (s *Server) handler() http.Handler {
	c := &s.config
	options := []nethttp.Option{
		nethttp.WithRefusalAnswers(), nethttp.WithRateLimitHeaders(true), nethttp.WithTrustedProxies(c.Trusted...),
		nethttp.WithIPv6Prefix(c.IPv6Prefix), nethttp.WithAnswerHeaderLimits(c.Headers.limits()),
	}
	if c.AbandonedWait > 0 || c.AbandonedGrace > 0 {
		options = append(options, nethttp.WithAbandoned(nethttp.Abandoned{Wait: c.AbandonedWait, Grace: c.AbandonedGrace, Until: s.cut}))
	}
	if c.WholeAnswers {
		options = append(options, nethttp.WithWholeAnswers())
	}
	if c.Legacy {
		options = append(options, nethttp.WithLegacyHeaders())
	}
	if c.DeadlineHeader != "" {
		options = append(options, nethttp.WithDeadlineHeader(c.DeadlineHeader, c.DeadlineMax))
	}
	if c.TLS.Clients != "" {
		options = append(options, nethttp.WithKey(subject))
	}
	lines := newAccess(c.Access, c.AccessSample, c.PriorityHeader, s.lostLine)
	transport := nethttp.NewRoutedTransport(s.transport, s.set, options...)
	proxy := transport.Proxy(s.forwarder(transport, lines != nil))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.calls.Add(1)
		s.meter.inFlight.Add(1)
		t := &call{ResponseWriter: w}
		t.begin(r)
		debug := s.log.Enabled(r.Context(), slog.LevelDebug)
		var start time.Time
		if debug || lines != nil {
			start = time.Now()
		}
		// The proxy panics when the client or the upstream goes away in the middle of a
		// body.
		defer func() {
			t.over()
			s.meter.inFlight.Add(-1)
			s.meter.answered(t.status)
			s.calls.Done()
			if lines != nil {
				lines.write(r, t, start)
			}
			if debug {
				s.log.Debug("request", "method", r.Method, "host", r.Host, "path", r.URL.Path, "status", t.status, "took", time.Since(start), "peer", r.RemoteAddr)
			}
		}()
		if s.draining.Load() {
			// The client is to open its next connection elsewhere.
			w.Header().Set("Connection", "close")
		}
		held, ok := s.holdHeaders(t, r)
		if !ok {
			return
		}
		defer held.free()
		s.limitPriority(r)
		if !s.refuse(t, r) {
			proxy.ServeHTTP(t, r.WithContext(&t.context))
		}
	})
}

// NewTransport returns the connections to the upstream, with one host in mind:
// as many idle ones as there were requests at a time, since the policy's
// bulkheads bound those. Nothing is decoded on the way. Timeouts of answers are
// the policy's.
func NewTransport() *http.Transport {
	return &http.Transport{
		DialContext:           connects(defaultConnectTimeout),
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       DefaultUpstreamIdleTimeout,
		MaxIdleConnsPerHost:   4096,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}

// lostLine counts a line of the access log that could not be written, as on a full disk.
func (s *Server) lostLine(err error) {
	s.meter.lostLines.Inc()
	if left, ok := s.unwritten.due(time.Now()); ok {
		s.log.Error("the access log cannot be written; its lines are lost", "error", err, "others", left)
	}
}

// failed answers for an upstream that did not, when no step of the policy says
// how: with 502, or nothing to a client that is gone.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	learn(r.Context(), nil)
	if (r.Context().Err() != nil || errors.Is(err, context.Canceled)) && !flooded(r.Context()) {
		s.log.Debug("the client went away", "path", r.URL.Path)
		w.WriteHeader(statusClientGone)
		return
	}
	if left, ok := s.unanswered.due(time.Now()); ok {
		s.log.Warn("no answer from the upstream", "method", r.Method, "path", r.URL.Path, "error", err, "others", left)
	}
	answer(w, r, http.StatusBadGateway, "The upstream gave no answer.")
}

// statusClientGone is what nginx writes into its log for a client that did not
// wait. No client reads the answer.
const statusClientGone = 499

// bufferSize is the size that io.Copy takes.
const bufferSize = 32 << 10

// Buffers is a pool of buffers that allocates nothing to put one back.
type Buffers struct{ pool sync.Pool }

// Get implements httputil.BufferPool.
func (b *Buffers) Get() []byte {
	if one, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return one[:]
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *Buffers) Put(one []byte) {
	if len(one) == bufferSize {
		b.pool.Put((*[bufferSize]byte)(one))
	}
}
