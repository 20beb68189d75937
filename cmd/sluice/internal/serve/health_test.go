package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDrainDelay(t *testing.T) {
	over := make(chan time.Time)
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) {
		c.DrainDelay = time.Hour
		c.after = func(d time.Duration) <-chan time.Time {
			assert.Equal(t, time.Hour, d)
			return over
		}
	})
	end := sync.OnceFunc(func() { close(over) })
	t.Cleanup(end) // of a test that fails, too
	resp, _ := get(t, p.admin+"/readyz")
	assert.Equal(t, 200, resp.StatusCode)
	p.stop()
	p.journal.await(t, "not ready any more")
	for path, status := range map[string]int{"/readyz": 503, "/healthz": 503, "/livez": 200} {
		resp, body := get(t, p.admin+path)
		assert.Equal(t, status, resp.StatusCode, path)
		assert.Equal(t, map[int]string{200: "ok\n", 503: "draining\n"}[status], body)
	}
	resp, _ = get(t, p.url+"/x")
	assert.Equal(t, 200, resp.StatusCode, "requests are still taken")
	assert.True(t, resp.Close, "on connections that end")
	end()
	p.journal.await(t, "stopped")
}

func TestReadinessKnowsTheUpstream(t *testing.T) {
	p := run(t, open, http.HandlerFunc(tells))
	up := p.upstreams[0].reach.next
	down := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("down") }
	assert.Equal(t, strings.TrimPrefix(p.config.Upstreams[0].String(), "http://"), p.upstreams[0].reach.address)

	p.upstreams[0].reach.next = down
	resp, _ := get(t, p.admin+"/readyz")
	assert.Equal(t, 200, resp.StatusCode, "no request has shown it")
	resp, _ = get(t, p.url+"/x")
	assert.Equal(t, 502, resp.StatusCode)
	for range 2 {
		resp, body := get(t, p.admin+"/readyz")
		assert.Equal(t, 503, resp.StatusCode)
		assert.Equal(t, "the upstream cannot be connected to: down\n", body)
	}
	resp, _ = get(t, p.admin+"/livez")
	assert.Equal(t, 200, resp.StatusCode)

	p.upstreams[0].reach.next = up
	resp, _ = get(t, p.admin+"/readyz")
	assert.Equal(t, 200, resp.StatusCode, "the probe itself connects")
}

func TestAddressOfTheUpstream(t *testing.T) {
	for text, want := range map[string]string{
		"http://a": "a:80", "https://a": "a:443", "http://a:1/b": "a:1", "https://[::1]": "[::1]:443",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, newReach(u, nil).address)
	}
}

// TestDeadUpstreamIsLoggedOnceASecond has a hundred requests fail in each of three
// seconds.
func TestDeadUpstreamIsLoggedOnceASecond(t *testing.T) {
	inBubble(t, open, tells, func(b *bubble) {
		b.connect = func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("down")
		}
		for range 300 {
			resp, _ := b.get("/x")
			assert.Equal(t, 502, resp.StatusCode)
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		for _, others := range []float64{0, 99, 99} {
			assert.Equal(t, others, b.journal.await(b.t, "no answer from the upstream")["others"])
		}
		b.journal.mu.Lock()
		defer b.journal.mu.Unlock()
		for _, line := range b.journal.lines {
			assert.NotContains(t, line["msg"], "no answer")
		}
	})
}

// TestComplaintsAreLoggedOnceASecond has an upstream break its answers off.
func TestComplaintsAreLoggedOnceASecond(t *testing.T) {
	inBubble(t, open, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
		_, _ = w.Write([]byte("h"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, func(b *bubble) {
		for range 20 {
			c := b.open("GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			_, err := io.Copy(io.Discard, c.Conn)
			assert.NoError(t, err)
			time.Sleep(100 * time.Millisecond)
		}
		for _, others := range []float64{0, 9} {
			assert.Equal(t, others, b.journal.await(b.t, "read error during body copy")["others"])
		}
		b.journal.mu.Lock()
		defer b.journal.mu.Unlock()
		for _, line := range b.journal.lines {
			assert.NotContains(t, line["msg"], "read error")
		}
	})
}

// TestChangesOfBreakersAreLogged has one that all requests share, and one for each key.
func TestChangesOfBreakersAreLogged(t *testing.T) {
	inBubble(t, `
version: 1
policies:
  all: {steps: [{breaker: {window: {consecutive: 1}, open: 10s, probes: 1}}]}
  each: {steps: [{breaker: {window: {consecutive: 1}, open: 1h, per: "header:x-key"}}]}
routes:
  - {path: /all, policy: all}
  - {path: /each, policy: each}
`, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Fail") != "" {
			w.WriteHeader(500)
		}
	}, func(b *bubble) {
		b.get("/all", "X-Fail: 1")
		line := b.journal.await(b.t, "a breaker changed")
		assert.Equal(t, []any{"WARN", "all", "breaker", "open"}, []any{line["level"], line["policy"], line["step"], line["state"]})
		assert.NotContains(t, line, "key")
		time.Sleep(10 * time.Second)
		b.get("/all")
		for _, state := range []string{"half-open", "closed"} {
			line = b.journal.await(b.t, "a breaker changed")
			assert.Equal(t, []any{"INFO", state}, []any{line["level"], line["state"]})
		}
		for _, key := range []string{"a", "b", "c"} {
			b.get("/each", "X-Fail: 1", "X-Key: "+key)
		}
		assert.Equal(t, 0.0, b.journal.await(b.t, "a breaker changed")["others"])
		time.Sleep(time.Second)
		b.get("/each", "X-Fail: 1", "X-Key: d")
		line = b.journal.await(b.t, "a breaker changed")
		assert.Equal(t, 2.0, line["others"])
		assert.Contains(t, line["key"], "d")
	})
}
