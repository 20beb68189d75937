package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/filewatch"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const twoAnHour = `
version: 1
policies:
  api: {steps: [{retry: {attempts: 2, backoff: none}}, {limit: {rate: 2/1h, per: ip}}]}
routes:
  - {path: /api/**, policy: api}
`

func TestServeGuards(t *testing.T) {
	p := run(t, twoAnHour, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Forwarded-For"), r.Header.Get("X-Forwarded-Host"))
	}), func(c *Config) { c.Legacy = true })
	for range 3 {
		resp, body := get(t, p.url+"/other?a=b", "X-Forwarded-For", "6.6.6.6")
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "GET /other?a=b 127.0.0.1 "+strings.TrimPrefix(p.url, "http://"), body)
		assert.Empty(t, resp.Header.Get("RateLimit"), "no route: untouched")
	}
	resp, _ := get(t, p.url+"/api/x")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, `"limit";q=2;w=3600`, resp.Header.Get("RateLimit-Policy"))
	assert.Regexp(t, `^"limit";r=1;t=1(800|79\d)$`, resp.Header.Get("RateLimit"))
	assert.Equal(t, "1", resp.Header.Get("X-RateLimit-Remaining"))
	get(t, p.url+"/api/x")
	resp, body := get(t, p.url+"/api/x", "X-Forwarded-For", "6.6.6.6")
	assert.Equal(t, 429, resp.StatusCode)
	assert.Regexp(t, `^1(800|79\d)$`, resp.Header.Get("Retry-After"))
	assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	assert.Contains(t, body, `"reason":"rate"`)

	assert.Contains(t, p.metric(t, "sluice_decisions_total"),
		`sluice_decisions_total{decision="reject",policy="api",reason="rate",shadow="false",step="limit"} 1`)
	assert.Contains(t, p.metric(t, "sluice_decisions_total"), `{decision="admit",policy="api",reason="",shadow="false",step=""} 2`)
	assert.Contains(t, p.metric(t, "sluice_call_duration_seconds_count"), `{outcome="ok",policy="api"} 2`)
	assert.Equal(t, `sluice_keys{policy="api",step="limit"} 1`, p.metric(t, "sluice_keys"))
	assert.Contains(t, p.metric(t, "sluice_http_answers_total"), `{code="429"} 1`)
	assert.Equal(t, "sluice_http_requests_in_flight 0", p.metric(t, "sluice_http_requests_in_flight"))
	assert.Contains(t, p.metric(t, "sluice_queue_length"), `{policy="api",step="limit"} 0`)
	assert.NotContains(t, p.metric(t, "sluice_"), "127.0.0.1")
	health, text := get(t, p.admin+"/healthz")
	assert.Equal(t, 200, health.StatusCode)
	assert.Equal(t, "ok\n", text)
	assert.Equal(t, float64(429), p.request(t, 6)["status"])
}

// request returns the log line of the nth request.
func (p *proxy) request(t *testing.T, n int) (line map[string]any) {
	t.Helper()
	for range n {
		line = p.journal.await(t, "request")
	}
	return line
}

func TestTrustedHopsAndHost(t *testing.T) {
	p := run(t, twoAnHour, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host, " ", r.Header.Get("X-Forwarded-For"))
	}), func(c *Config) {
		c.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.PreserveHost = true
	})
	for range 2 {
		for _, client := range []string{"203.0.113.1", "203.0.113.2"} {
			resp, body := get(t, p.url+"/api/x", "X-Forwarded-For", client, "Host", "api.test")
			assert.Equal(t, 200, resp.StatusCode)
			assert.Equal(t, "api.test "+client+", 127.0.0.1", body)
		}
	}
	resp, _ := get(t, p.url+"/api/x", "X-Forwarded-For", "203.0.113.1")
	assert.Equal(t, 429, resp.StatusCode)
}

func TestUpstreamThatGivesNoAnswer(t *testing.T) {
	var attempts atomic.Int64
	p := run(t, `
version: 1
policies:
  api: {steps: [{retry: {attempts: 3, backoff: none}}, {breaker: {window: {consecutive: 3}, open: 1h}}, {timeout: 1h}]}
  brief: {steps: [{timeout: 1ms}], fallback: {status: 503, body: try later}}
routes:
  - {path: /api/**, policy: api}
  - {path: /brief/**, policy: brief}
`, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		attempts.Add(1)
		if strings.HasPrefix(r.URL.Path, "/brief") {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	resp, body := get(t, p.url+"/api/x")
	assert.Equal(t, 502, resp.StatusCode)
	assert.Contains(t, body, `"status":502`)
	assert.EqualValues(t, 3, attempts.Load())
	assert.Equal(t, "EOF", errorOf(p.journal.await(t, "no answer from the upstream")))
	resp, _ = get(t, p.url+"/api/x")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Regexp(t, `^3(600|59\d)$`, resp.Header.Get("Retry-After"))
	assert.Contains(t, p.metric(t, "sluice_breaker_state"), `{policy="api",state="open",step="breaker"} 1`)
	assert.Contains(t, p.metric(t, "sluice_breaker_changes_total"), `{policy="api",state="open",step="breaker"} 1`)
	resp, body = get(t, p.url+"/brief/x")
	assert.Equal(t, 503, resp.StatusCode)
	assert.Equal(t, "try later", body)
	// Cut once and not tried again; the cut may come before the upstream sees it.
	assert.LessOrEqual(t, attempts.Load(), int64(4))
}

func errorOf(line map[string]any) string {
	text := fmt.Sprint(line["error"])
	return text[strings.LastIndex(text, " ")+1:]
}

func TestReload(t *testing.T) {
	p := run(t, twoAnHour, http.NotFoundHandler())
	get(t, p.url+"/api/x")
	p.write(t, "version: 1\npolicies:\n  api: {steps: [{limit: {rate: 5, perr: ip}}]}\n")
	p.reload <- syscall.SIGHUP
	for _, want := range []string{":3:32: policies.api.steps[0].limit.rate: found the number 5", ":3:35: policies.api.steps[0].limit.perr"} {
		line := p.journal.await(t, "refused; the old one stays active")
		assert.Equal(t, "ERROR", line["level"])
		assert.Contains(t, line["error"], p.file+want)
	}
	assert.Equal(t, "sluice_last_reload_successful 0", p.metric(t, "sluice_last_reload_successful"))
	resp, _ := get(t, p.url+"/api/x")
	assert.Equal(t, 404, resp.StatusCode, "the second permit")
	resp, _ = get(t, p.url+"/api/x")
	assert.Equal(t, 429, resp.StatusCode, "the old one is active")

	p.write(t, strings.Replace(twoAnHour, "routes:", "  new: {steps: [{limit: 1/1h}]}\nroutes:\n  - {path: /new, policy: new}", 1))
	p.reload <- syscall.SIGHUP
	p.journal.await(t, "document is active")
	assert.Equal(t, "sluice_last_reload_successful 1", p.metric(t, "sluice_last_reload_successful"))
	assert.Regexp(t, `sluice_last_reload_success_timestamp_seconds [0-9.e+]+`, p.metric(t, "sluice_last_reload_success"))
	assert.Contains(t, p.metric(t, "sluice_build_info"), `{go="go1`)
	resp, _ = get(t, p.url+"/api/x")
	assert.Equal(t, 429, resp.StatusCode, "the state was kept")
	get(t, p.url+"/new")
	resp, _ = get(t, p.url+"/new")
	assert.Equal(t, 429, resp.StatusCode)
	assert.Contains(t, p.metric(t, "sluice_decisions_total"), `policy="new"`)

	require.NoError(t, os.Remove(p.file))
	p.reload <- syscall.SIGHUP
	assert.Contains(t, p.journal.await(t, "cannot be read; the old policy stays")["error"], "no such file")
	assert.Equal(t, "sluice_reloads_total{result=\"ok\"} 1\nsluice_reloads_total{result=\"refused\"} 2", p.metric(t, "sluice_reloads_total"))
}

func TestFileIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := t.TempDir() + "/policy.yaml"
		require.NoError(t, os.WriteFile(file, []byte(twoAnHour), 0o600))
		j := newJournal()
		s, err := New(Config{File: file, Source: []byte(twoAnHour), Upstreams: []*url.URL{{}}, Log: slog.New(slog.NewJSONHandler(j, nil))})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go s.watch(ctx)
		count := func() int {
			time.Sleep(5 * filewatch.Every)
			synctest.Wait()
			j.mu.Lock()
			defer j.mu.Unlock()
			return len(j.lines)
		}
		assert.Equal(t, 0, count())
		require.NoError(t, os.Chtimes(file, time.Now(), time.Now()))
		assert.Equal(t, 0, count(), "touched, not changed")
		require.NoError(t, os.WriteFile(file, []byte("version: 2\n"), 0o600))
		first := count()
		assert.Positive(t, first, "refused")
		assert.Equal(t, first, count(), "and said so once")
		require.NoError(t, os.WriteFile(file+".new", []byte(strings.Replace(twoAnHour, "2/1h", "30/1h", 1)), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
		assert.Equal(t, first+1, count())
		assert.EqualValues(t, 30, pipeline.ConfigOf[limiter.Config](s.set.Document().Policies[0].Steps[1]).Count)

		require.NoError(t, os.Rename(file, file+".away"))
		assert.Equal(t, first+2, count())
		j.await(t, "cannot be read")
		require.NoError(t, os.Rename(file+".away", file))
		count()
		assert.Equal(t, "INFO", j.await(t, "document is active")["level"], "the same text is back")
		metrics := httptest.NewRecorder()
		s.admin().ServeHTTP(metrics, httptest.NewRequest("GET", "http://localhost/metrics", nil))
		assert.Contains(t, metrics.Body.String(), "sluice_last_reload_successful 1\n")
	})
}

func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []Config{
		{Listen: taken.Addr().String()},
		{Listen: "127.0.0.1:0", Admin: taken.Addr().String()},
	} {
		c.Source, c.File, c.Upstreams, c.Log = []byte(twoAnHour), "policy.yaml", []*url.URL{{}}, slog.New(slog.DiscardHandler)
		s, err := New(c)
		require.NoError(t, err)
		err = s.Run(t.Context())
		var refused *ListenError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "cannot listen on "+taken.Addr().String()+": address already in use", err.Error())
		assert.True(t, errors.Is(err, syscall.EADDRINUSE))
	}
}

func TestBadDocument(t *testing.T) {
	_, err := New(Config{File: "p.yaml", Source: []byte("version: 1\n")})
	require.Error(t, err)
	assert.Contains(t, err.Error(), "p.yaml:1:1:")
}

// TestObeysRetryAfter: an answer of the upstream that says when to come back, in either form,
// opens a breaker that obeys it.
func TestObeysRetryAfter(t *testing.T) {
	for name, after := range map[string]func() string{
		"seconds": func() string { return "1800" },
		"date":    func() string { return time.Now().Add(30 * time.Minute).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, "version: 1\npolicies: {api: {steps: [{breaker: {window: {calls: 10}, obey_retry_after: 1h}}]}}\nroutes: [{path: /**, policy: api}]\n",
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", after())
					w.WriteHeader(http.StatusServiceUnavailable)
				}))
			for _, want := range []string{"", "open"} {
				resp, _ := get(t, p.url+"/")
				assert.Equal(t, 503, resp.StatusCode)
				assert.Equal(t, want, resp.Header.Get("X-Throttle-Reason"))
				if want != "" {
					assert.Regexp(t, `^1(800|79\d)$`, resp.Header.Get("Retry-After"))
				}
			}
		})
	}
}
