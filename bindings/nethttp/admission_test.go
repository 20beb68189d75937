package nethttp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
)

func TestFromContext(t *testing.T) {
	var seen nethttp.Admission
	var ok bool
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen, ok = nethttp.FromContext(r.Context()) })
	tenant := nethttp.WithKey(func(r *http.Request) string { return r.Header.Get("X-Tenant") })
	synctest.Test(t, func(t *testing.T) {
		set := parse(t, `
version: 1
policies:
  api:
    steps:
      - limit: {rate: 2/1m, burst: 4, per: key, name: tenant}
      - limit: {rate: 1/1h, name: trial, shadow: true}
      - limit: {rate: 1/1s}
routes:
  - {path: /api/**, policy: api}
`)
		r := get(t, "/api/x")
		r.Header.Set("X-Tenant", "a")
		serve(nethttp.NewRoutedHandler(next, set, tenant, nethttp.WithAdmission()), r)
		require.True(t, ok)
		assert.Equal(t, nethttp.Admission{Policy: "api", Route: "/api/**", Limits: []nethttp.Limit{
			{Step: "tenant", Most: 4, Free: 3, Full: 30 * time.Second},
			{Step: "limit-3", Most: 1, Next: time.Second, Full: time.Second},
		}}, seen)
		serve(nethttp.NewRoutedHandler(next, set, tenant, nethttp.WithAdmission()), get(t, "/other"))
		assert.False(t, ok, "no policy guards it")
	})
	p := policyOf(t, "steps:", "  - timeout: 1m")
	serve(nethttp.NewHandler(next, p, nethttp.WithAdmission()), get(t, "/"))
	assert.Equal(t, nethttp.Admission{Policy: "p"}, seen)
	serve(nethttp.NewHandler(next, p), get(t, "/"))
	assert.False(t, ok, "without the option")
}

// blank is an http.ResponseWriter that can do what a server's can.
type blank struct{ header http.Header }

func (b *blank) Header() http.Header                        { return b.header }
func (*blank) WriteHeader(int)                              {}
func (*blank) Write(b []byte) (int, error)                  { return len(b), nil }
func (*blank) Flush()                                       {}
func (*blank) SetReadDeadline(time.Time) error              { return nil }
func (*blank) SetWriteDeadline(time.Time) error             { return nil }
func (*blank) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errors.ErrUnsupported }

// TestRequestIsPassedOnAsItIs where nothing ends its context and nothing is in it.
func TestRequestIsPassedOnAsItIs(t *testing.T) {
	limit, timed := []string{"steps:", "  - limit: 1000000/1s"}, []string{"steps:", "  - timeout: 1m"}
	for name, c := range map[string]struct {
		steps  []string
		writer http.ResponseWriter
		header http.Header
		on     bool
		same   bool
	}{
		"a limit":            {limit, &blank{http.Header{}}, nil, false, true},
		"the admission":      {limit, &blank{http.Header{}}, nil, true, false},
		"a timeout":          {timed, &blank{http.Header{}}, nil, false, false},
		"no deadlines below": {limit, httptest.NewRecorder(), nil, false, false},
		"its own deadline":   {limit, &blank{http.Header{}}, http.Header{nethttp.DeadlineHeader: {"5"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			sent := get(t, "/")
			sent.Header = c.header
			next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { assert.Equal(t, c.same, r == sent) })
			options := []nethttp.Option{nethttp.WithDeadlineHeader(nethttp.DeadlineHeader, 0)}
			if c.on {
				options = append(options, nethttp.WithAdmission())
			}
			nethttp.NewHandler(next, policyOf(t, c.steps...), options...).ServeHTTP(c.writer, sent)
		})
	}
}

// TestSmallAnswerIsNotWatched, for nothing of it waits for the client; all others are.
func TestSmallAnswerIsNotWatched(t *testing.T) {
	for name, c := range map[string]struct {
		write   func(w http.ResponseWriter)
		bounds  policy.HTTP
		watched bool
	}{
		"small":       {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 2048)) }, policy.HTTP{StreamIdle: time.Minute}, false},
		"large":       {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 2049)) }, policy.HTTP{StreamIdle: time.Minute}, true},
		"two parts":   {func(w http.ResponseWriter) { _, _ = w.Write([]byte("a")); _, _ = w.Write([]byte("b")) }, policy.HTTP{StreamIdle: time.Minute}, true},
		"flushed":     {func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, policy.HTTP{StreamIdle: time.Minute}, true},
		"copied":      {func(w http.ResponseWriter) { _, _ = w.(io.ReaderFrom).ReadFrom(onlyReader{http.NoBody}) }, policy.HTTP{StreamIdle: time.Minute}, true},
		"replaced":    {func(w http.ResponseWriter) { w.WriteHeader(500) }, policy.HTTP{StreamIdle: time.Minute}, true},
		"of one life": {func(w http.ResponseWriter) { w.WriteHeader(200) }, policy.HTTP{Lifetime: time.Minute}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					c.write(w)
					time.Sleep(2 * time.Minute)
					assert.Equal(t, c.watched, r.Context().Err() != nil)
				})
				nethttp.NewHandler(next, policyOf(t, "steps:", "  - limit: 10/1s", "fallback: {status: 503, body: "+strings.Repeat("x", 2049)+"}"), nethttp.WithHTTP(c.bounds), nethttp.WithAdmission()).ServeHTTP(&blank{http.Header{}}, get(t, "/"))
			})
		})
	}
}

// TestHandlerAllocates as often as the bench says, beside the bare handler.
func TestHandlerAllocates(t *testing.T) {
	if testenv.Race {
		t.Skip("with the race detector")
	}
	plenty, scant := []string{"steps:", "  - limit: 1000000000/1s"}, []string{"steps:", "  - limit: 1/24h"}
	for name, c := range map[string]struct {
		steps   []string
		options []nethttp.Option
		most    float64
	}{
		"with headers": {plenty, nil, 3},
		"admission":    {plenty, []nethttp.Option{nethttp.WithAdmission()}, 4},
		"without":      {plenty, []nethttp.Option{nethttp.WithRateLimitHeaders(false)}, 2},
		"refused":      {scant, nil, 3}, // a text for each second is made once
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte("hello")
			next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
			h := nethttp.NewHandler(next, policyOf(t, c.steps...), c.options...)
			w, r := &blank{http.Header{}}, get(t, "/")
			assert.LessOrEqual(t, testing.AllocsPerRun(1_000, func() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}), c.most)
		})
	}
}

func TestPolicyOfARequest(t *testing.T) {
	free, paid := policyOf(t, "steps:", "  - limit: 1/1h"), policyOf(t, "steps:", "  - limit: 2/1h")
	h := nethttp.NewHandler(says(200, "ok"), free, nethttp.WithPolicyOf(func(r *http.Request) *sluice.Pipeline {
		if r.URL.Path == "/paid" {
			return paid
		}
		return nil
	}))
	var codes []int
	for range 3 {
		codes = append(codes, serve(h, get(t, "/free")).Code, serve(h, get(t, "/paid")).Code)
	}
	assert.Equal(t, []int{200, 200, 429, 200, 429, 429}, codes)
}

// TestIdleStreamEndsItsContext has a request that is passed on as it is: the server ends
// its context when the reads of the connection end.
func TestIdleStreamEndsItsContext(t *testing.T) {
	serving(t, func(t *testing.T) http.Handler {
		return nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			assert.Equal(t, time.Minute, time.Since(start))
		}), policyOf(t, "steps:", "  - limit: 10/1s"), bounds)
	}, func(t *testing.T, dial func(string) net.Conn) {
		conn := dial(plain)
		defer conn.Close()
		answered, err := io.ReadAll(conn)
		require.NoError(t, err)
		assert.Contains(t, string(answered), "200 OK")
	})
}

// TestRefusalsSayTheirOwnTime although many in a row say the same, and have nothing of
// another handler around them.
func TestRefusalsSayTheirOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := nethttp.NewHandler(says(200, "ok"), policyOf(t, "steps:", "  - limit: {rate: 1/1m, name: inner}"))
		h := nethttp.NewHandler(inner, policyOf(t, "steps:", "  - limit: {rate: 60/1m, name: outer}"))
		assert.Equal(t, 200, serve(h, get(t, "/")).Code)
		for i := range 6 {
			want := strconv.Itoa(60 - i/2*10)
			w := serve(h, get(t, "/"))
			assert.Equal(t, 429, w.Code)
			assert.Equal(t, []string{want}, w.Header().Values("Retry-After"))
			assert.Equal(t, []string{`"inner";r=0;t=` + want}, w.Header().Values("RateLimit"))
			assert.Equal(t, []string{`"inner";q=1;w=60`}, w.Header().Values("RateLimit-Policy"))
			time.Sleep(time.Duration(i%2) * 10 * time.Second)
		}
	})
}
