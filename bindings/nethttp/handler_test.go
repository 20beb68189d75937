package nethttp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// says answers with a status and a text.
func says(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// serve passes a request to a handler and returns what it wrote.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := nethttp.NewHandler(says(200, "hello"), policyOf(t, "steps:", "  - limit: {rate: 2/1m, burst: 1}"))
		w := serve(h, get(t, "/a"))
		assert.Equal(t, 200, w.Code)
		assert.Equal(t, `"limit";r=0;t=30`, w.Header().Get("RateLimit"))
		assert.Equal(t, `"limit";q=2;w=60`, w.Header().Get("RateLimit-Policy"))
		w = serve(h, get(t, "/a"))
		assert.Equal(t, 429, w.Code)
		assert.Equal(t, "30", w.Header().Get("Retry-After"))
		assert.Equal(t, `"limit";r=0;t=30`, w.Header().Get("RateLimit"))
		assert.Equal(t, "rate", w.Header().Get("X-Throttle-Reason"))
		assert.Empty(t, w.Header().Get("X-RateLimit-Limit"))
		assert.Contains(t, w.Body.String(), quota)
		time.Sleep(30 * time.Second)
		assert.Equal(t, 200, serve(h, get(t, "/a")).Code, "Retry-After kept its word")
	})
}

func TestHandlerOptions(t *testing.T) {
	lines := []string{"steps:", "  - limit: {rate: 2/1h, per: key}"}
	h := nethttp.Middleware(policyOf(t, lines...),
		nethttp.WithKey(func(r *http.Request) string { return r.Header.Get("X-Tenant") }),
		nethttp.WithSkip(func(r *http.Request) bool { return r.URL.Path == "/healthz" }),
		nethttp.WithCost(func(r *http.Request) uint32 { return uint32(len(r.URL.Query().Get("n"))) }),
		nethttp.WithRateLimitHeaders(false), nethttp.WithLegacyHeaders(),
		nethttp.WithRefusal(func(w http.ResponseWriter, _ *http.Request, err error) { http.Error(w, err.Error(), 420) }),
	)(says(204, ""))
	as := func(tenant, target string) *httptest.ResponseRecorder {
		r := get(t, target)
		r.Header.Set("X-Tenant", tenant)
		return serve(h, r)
	}
	assert.Equal(t, 204, as("a", "/?n=xx").Code)
	refused := as("a", "/?n=x")
	assert.Equal(t, 420, refused.Code)
	assert.Equal(t, "rate", refused.Header().Get("X-Throttle-Reason"))
	assert.Contains(t, refused.Body.String(), "limit")
	assert.Equal(t, "text/plain; charset=utf-8", refused.Header().Get("Content-Type"))
	assert.Equal(t, 204, as("a", "/healthz").Code)
	assert.Equal(t, 204, as("a", "/?n=").Code, "no cost")
	other := as("b", "/?n=x")
	assert.Equal(t, 204, other.Code)
	assert.Equal(t, "2", other.Header().Get("X-RateLimit-Limit"))
	assert.Equal(t, "1", other.Header().Get("X-RateLimit-Remaining"))
	assert.Empty(t, other.Header().Get("RateLimit"))
}

func TestHandlerVotesByStatus(t *testing.T) {
	p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 1")
	code := 404
	h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		if code == 500 {
			assert.Equal(t, "open", p.State()[0].Mode, "the vote is the headers'")
		}
		assert.Equal(t, 0, free(t, p))
	}), p)
	assert.Equal(t, 404, serve(h, get(t, "/")).Code)
	assert.Equal(t, "closed", p.State()[0].Mode)
	code = 500
	assert.Equal(t, 500, serve(h, get(t, "/")).Code)
	assert.Equal(t, 1, free(t, p))
	assert.Equal(t, 503, serve(h, get(t, "/")).Code)
}

func TestHandlerThatPanics(t *testing.T) {
	p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 1")
	h := nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), p)
	assert.PanicsWithValue(t, "boom", func() { serve(h, get(t, "/")) })
	assert.Equal(t, "open", p.State()[0].Mode)
	assert.Equal(t, 1, free(t, p))

	// An abort because the client left is not a failure of the dependency.
	p = policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - bulkhead: 1")
	h = nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), p)
	ctx, cancel := context.WithCancel(t.Context())
	h2 := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }()
		h.ServeHTTP(w, r)
	})
	r := get(t, "/").WithContext(ctx)
	inner := nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel(); panic(http.ErrAbortHandler) }), p)
	func() {
		defer func() { assert.Equal(t, http.ErrAbortHandler, recover()) }()
		serve(inner, r)
	}()
	assert.Equal(t, "closed", p.State()[0].Mode)
	assert.Equal(t, 1, free(t, p))
	serve(h2, get(t, "/"))
	assert.Equal(t, "open", p.State()[0].Mode)
}

func TestHandlerTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 2}, open: 1h}", "  - timeout: {after: 2s, name: brief}")
		h := nethttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), p)
		w := serve(h, get(t, "/"))
		assert.Equal(t, 503, w.Code)
		assert.Contains(t, w.Body.String(), `"reason":"timeout"`)
		assert.Contains(t, w.Body.String(), `"step":"brief"`)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		serve(h, get(t, "/").WithContext(ctx))
		assert.Equal(t, "closed", p.State()[0].Mode, "a client that went away does not vote")
		serve(h, get(t, "/"))
		assert.Equal(t, "open", p.State()[0].Mode)
	})
}

func TestHandlerStreamsPastItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			rc := http.NewResponseController(w)
			for range 5 {
				_, _ = io.WriteString(w, "tick\n")
				assert.NoError(t, rc.Flush())
				w.(http.Flusher).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
					t.Error("cut while it streamed")
				}
			}
		}), policyOf(t, "steps:", "  - timeout: 2s"))
		w := serve(h, get(t, "/"))
		assert.True(t, w.Flushed)
		assert.Equal(t, strings.Repeat("tick\n", 5), w.Body.String())
	})
}

func TestHandlerFallback(t *testing.T) {
	p := policyOf(t, "steps:", "  - limit: {rate: 3/1h}", "fallback: {status: 202, body: later}")
	code := 500
	h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Own", "1")
		w.WriteHeader(code)
		_, err := io.Copy(w, strings.NewReader("its own body"))
		assert.NoError(t, err)
	}), p)
	w := serve(h, get(t, "/"))
	assert.Equal(t, 202, w.Code)
	assert.Equal(t, "later", w.Body.String())
	assert.Equal(t, "1", w.Header().Get("X-Own"))
	assert.Empty(t, w.Header().Get("Content-Encoding"))
	code = 404
	assert.Equal(t, 404, serve(h, get(t, "/")).Code)
	code = 200
	assert.Equal(t, "its own body", serve(h, get(t, "/")).Body.String())
	w = serve(h, get(t, "/"))
	assert.Equal(t, 202, w.Code)
	assert.Equal(t, "later", w.Body.String())
	assert.Equal(t, "1200", w.Header().Get("Retry-After"))
}

func TestRoutedHandler(t *testing.T) {
	set := parse(t, `
version: 1
policies:
  login: {steps: [{limit: {rate: 1/1h, per: ip}}]}
  api: {steps: [{retry: 3}, {limit: {rate: 2/1h, per: [route, "header:x-tenant"]}}]}
routes:
  - {path: /login, method: [POST], policy: login}
  - {path: /api/**, host: api.test, policy: api}
`)
	var log bytes.Buffer
	h := nethttp.NewRoutedHandler(says(200, "ok"), set,
		nethttp.WithTrustedProxies(netip.MustParsePrefix("192.0.2.0/24")),
		nethttp.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	assert.Contains(t, log.String(), "policy=api step=retry")
	from := func(method, target, forwarded string) int {
		r := httptest.NewRequest(method, target, nil) // from 192.0.2.1:1234
		r.Header.Set("X-Forwarded-For", forwarded)
		return serve(h, r).Code
	}
	for range 3 {
		assert.Equal(t, 200, from("GET", "http://api.test/login", ""), "untouched")
		assert.Equal(t, 200, from("GET", "http://other.test/api/x", ""), "untouched")
	}
	assert.Equal(t, 200, from("POST", "/login", "203.0.113.1"))
	assert.Equal(t, 429, from("POST", "/login", "203.0.113.1"))
	assert.Equal(t, 429, from("POST", "/login", "198.51.100.7, 203.0.113.1"), "what the client itself wrote is not believed")
	assert.Equal(t, 200, from("POST", "/login", "203.0.113.2"))
	assert.Equal(t, 200, from("GET", "http://api.test:8443/api/x", ""))
	assert.Equal(t, 200, from("GET", "http://API.test/api/y", ""))
	assert.Equal(t, 429, from("GET", "http://api.test/api/z", ""))

	require.NoError(t, set.Reload("policy.yaml", []byte(`
version: 1
policies:
  api: {steps: [{retry: 3}, {limit: {rate: 3/1h, per: [route, "header:x-tenant"]}}]}
routes:
  - {path: /api/**, policy: api}
`)))
	assert.Equal(t, 200, from("POST", "/login", "203.0.113.1"), "no route any more")
	assert.Equal(t, 200, from("GET", "http://other.test/api/x", ""))
}

func TestHandlerWithoutAnAnswerIs200(t *testing.T) {
	h := nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), policyOf(t, "steps:", "  - timeout: 1s"))
	assert.Equal(t, 200, serve(h, get(t, "/")).Code)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Equal(t, 503, serve(h, get(t, "/").WithContext(gone)).Code)
}
