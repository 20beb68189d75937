package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// limitDocument is one limit. The rate is to be filled in.
const limitDocument = `
version: 1
policies:
  api: {steps: [{limit: {rate: %d/%s}}]}
`

// middleware guards a handler with one limit.
type middleware func(q quota, next http.Handler) http.Handler

func httpTasks() []task {
	bare := middleware(func(_ quota, next http.Handler) http.Handler { return next })
	served := func(m middleware) contender { return repeated(serving(m, plenty, http.StatusOK)) }
	refused := func(m middleware) contender { return repeated(serving(m, scant, http.StatusTooManyRequests)) }
	return []task{
		{name: "http, one limit, RateLimit headers", allocs: 6, sluice: served(ourMiddleware()), peers: []peer{
			{"failsafehttp, no headers", served(failsafeMiddleware), 1.2},
			{"throttled, X-RateLimit headers", served(throttledMiddleware), 0},
			{"x/time/rate by hand, no headers", served(rateMiddleware), 0},
			{"bare handler", served(bare), 0},
		}},
		{name: "http, one limit, no headers", allocs: 3, sluice: served(ourMiddleware(nethttp.WithRateLimitHeaders(false))), peers: []peer{
			{"failsafehttp", served(failsafeMiddleware), 2.5},
			{"x/time/rate by hand", served(rateMiddleware), 0},
			{"bare handler", served(bare), 0},
		}},
		{name: "http, refused", allocs: -1, sluice: refused(ourMiddleware()), peers: []peer{
			{"x/time/rate by hand, http.Error", refused(rateMiddleware), 0.5},
			{"failsafehttp", refused(failsafeMiddleware), 0},
			{"throttled", refused(throttledMiddleware), 0},
		}},
	}
}

// page is the http.ResponseWriter of a server, without the connection. Its header is used
// again, as for the bare handler.
type page struct {
	header http.Header
	status int
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) { p.status = status }

func (p *page) Write(b []byte) (int, error) {
	if p.status == 0 {
		p.status = http.StatusOK
	}
	return len(b), nil
}

func (p *page) Flush() {}

func (p *page) SetReadDeadline(time.Time) error { return nil }

func (p *page) SetWriteDeadline(time.Time) error { return nil }

func (p *page) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errors.ErrUnsupported }

// serving serves the same request again and again, each with the status.
func serving(m middleware, q quota, status int) caller {
	body := []byte("hello, world\n")
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	return func(ctx context.Context) func() {
		h := m(q, next)
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/things", nil)
		w := &page{header: http.Header{}}
		h.ServeHTTP(w, r) // takes the only permit where the others are to be refused
		return func() {
			clear(w.header)
			w.status = 0
			h.ServeHTTP(w, r)
			if w.status != status {
				panic("another status than the case is about")
			}
		}
	}
}

func ourMiddleware(options ...nethttp.Option) middleware {
	return func(q quota, next http.Handler) http.Handler {
		src := fmt.Sprintf(limitDocument, q.count, q.period)
		return nethttp.NewHandler(next, must(sluice.Parse("bench.yaml", []byte(src))).Pipeline("api"), options...)
	}
}

func failsafeMiddleware(q quota, next http.Handler) http.Handler {
	return failsafehttp.NewHandler(next, ratelimiter.NewBursty[*http.Response](uint(q.count), q.period))
}

func throttledMiddleware(q quota, next http.Handler) http.Handler {
	limit := must(throttled.NewGCRARateLimiterCtx(must(memstore.NewCtx(0)),
		throttled.RateQuota{MaxRate: throttled.PerDuration(1, q.period/time.Duration(q.count)), MaxBurst: q.count - 1}))
	limiter := throttled.HTTPRateLimiterCtx{RateLimiter: limit}
	return limiter.RateLimit(next)
}

func rateMiddleware(q quota, next http.Handler) http.Handler {
	limit := rate.NewLimiter(rate.Every(q.period/time.Duration(q.count)), q.count)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !limit.Allow() {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}
