package nethttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

// TestOverrides has requests of one Transport differ by their contexts.
func TestOverrides(t *testing.T) {
	p := policyOf(t, "steps:", "  - retry: {attempts: 3, backoff: none}", "  - limit: {rate: 10/1h, burst: 10, per: key}")
	send := func(next *script, o ...nethttp.Override) nethttp.Details {
		t.Helper()
		ctx := t.Context()
		for _, one := range o {
			ctx = nethttp.WithOverride(ctx, one)
		}
		key := nethttp.WithKey(func(*http.Request) string { return "default" })
		resp, err := nethttp.NewTransport(next, p, key).RoundTrip(get(t, target).WithContext(ctx))
		require.NoError(t, err)
		text(t, resp)
		info, _ := nethttp.Info(resp)
		return info
	}
	left := func(key string) uint32 { return p.Limits(sluice.Request{Key: key}, nil)[0].Free }
	send(answers(status(200)))
	assert.EqualValues(t, 9, left("default"))
	send(answers(status(200)), nethttp.Override{Key: "a"})
	assert.EqualValues(t, 9, left("a"))
	send(answers(status(200)), nethttp.Override{Key: "b", Cost: 4})
	assert.EqualValues(t, 6, left("b"))
	send(answers(status(200)), nethttp.Override{Key: "b", Cost: 4}, nethttp.Override{Cost: sluice.NoCost})
	assert.EqualValues(t, 6, left("b"), "the key of the outer one, no cost")
	assert.EqualValues(t, 9, left("default"))
	failing := answers(status(503))
	info := send(failing, nethttp.Override{NoRetry: "the user waits", Key: "c"})
	assert.Equal(t, nethttp.Details{Policy: "p", Attempts: 1, NoRetry: "the user waits"}, info)
	assert.Len(t, failing.seen, 1)
	assert.EqualValues(t, 9, left("c"))
	assert.Equal(t, 3, send(answers(status(503)), nethttp.Override{Key: "d"}).Attempts)
	info = send(answers(status(503)), nethttp.Override{Key: "e", Attempts: 2}, nethttp.Override{Timeout: time.Hour})
	assert.Equal(t, nethttp.Details{Policy: "p", Attempts: 2, GaveUp: reducer.ReasonAttempts}, info)
	assert.Equal(t, 3, send(answers(status(503)), nethttp.Override{Key: "f", Attempts: 9}).Attempts, "never more than the policy allows")
}

// TestOverrideOfTimeout bounds one request, and leaves an earlier deadline of its context.
func TestOverrideOfTimeout(t *testing.T) {
	for own, want := range map[time.Duration]time.Duration{0: time.Second, 500 * time.Millisecond: 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			p := policyOf(t, "steps:", "  - retry: {attempts: 3, backoff: none}", "  - timeout: 1m")
			next := answers(func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
			ctx := nethttp.WithOverride(t.Context(), nethttp.Override{Timeout: time.Second})
			if own > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, own)
				defer cancel()
			}
			began := time.Now()
			_, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target).WithContext(ctx))
			var late *sluice.TimeoutError
			require.ErrorAs(t, err, &late)
			assert.Equal(t, "deadline", late.Step)
			assert.Equal(t, want, time.Since(began))
			assert.Len(t, next.seen, 1)
		})
	}
}

func TestOverrideOfAHedge(t *testing.T) {
	p := policyOf(t, "steps:", "  - hedge: {parallel: true}", "  - bulkhead: 5")
	next := answers(status(200))
	resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target).WithContext(nethttp.WithOverride(t.Context(), nethttp.Override{NoRetry: "once"})))
	require.NoError(t, err)
	text(t, resp)
	info, _ := nethttp.Info(resp)
	assert.Equal(t, nethttp.Details{Policy: "p", Attempts: 1, NoRetry: "", NoHedge: "once"}, info)
	assert.Len(t, next.seen, 1)
}

// TestRetriesOfARealClient sends bodies of every kind by http.Client to a server that fails at
// first.
func TestRetriesOfARealClient(t *testing.T) {
	const long = nethttp.DefaultMaxBody + 1
	for name, c := range map[string]struct {
		method   string
		body     io.Reader
		length   int
		attempts int
		why      string
	}{
		"no body":          {"GET", nil, 0, 2, ""},
		"a body in memory": {"PUT", strings.NewReader(strings.Repeat("x", long)), long, 2, ""},
		"a short stream":   {"PUT", onlyReader{strings.NewReader("hello")}, 5, 2, ""},
		"a long stream":    {"PUT", onlyReader{strings.NewReader(strings.Repeat("x", long))}, long, 1, "the body is longer than what is kept for a retry"},
		"not idempotent":   {"POST", strings.NewReader("hello"), 5, 1, "POST is not idempotent, and there is no Idempotency-Key"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var lengths []int
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				assert.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				if lengths = append(lengths, len(body)); len(lengths) == 1 {
					w.WriteHeader(503)
				}
			}))
			defer server.Close()
			client := &http.Client{Transport: nethttp.NewTransport(nil, policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none}"))}
			defer client.CloseIdleConnections()
			resp, err := client.Do(request(t, c.method, server.URL, c.body))
			require.NoError(t, err)
			text(t, resp)
			info, ok := nethttp.Info(resp)
			require.True(t, ok)
			assert.Equal(t, c.attempts, info.Attempts)
			assert.Equal(t, c.why, info.NoRetry)
			for _, n := range lengths {
				assert.Equal(t, c.length, n)
			}
			assert.Len(t, lengths, c.attempts)
			assert.Equal(t, map[int]int{1: 503, 2: 200}[c.attempts], resp.StatusCode)
		})
	}
}

// TestAdmissionOfARealServer asks, in a handler, for what is left of its limits.
func TestAdmissionOfARealServer(t *testing.T) {
	p := policyOf(t, "steps:", "  - limit: {rate: 3/1h, per: header:x-tenant}")
	server := httptest.NewServer(nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := nethttp.FromContext(r.Context())
		assert.True(t, ok)
		w.Header().Set("X-Left", a.Policy+" "+a.Limits[0].Step+" "+strings.Repeat("|", int(a.Limits[0].Free)))
	}), p, nethttp.WithAdmission(), nethttp.WithCost(func(r *http.Request) uint32 {
		if r.URL.Path == "/free" {
			return 0
		}
		return 1
	})))
	defer server.Close()
	var got []string
	for _, path := range []string{"/x", "/free", "/x", "/x", "/x"} {
		r := get(t, server.URL+path)
		r.Header.Set("X-Tenant", "a")
		resp, err := server.Client().Do(r)
		require.NoError(t, err)
		text(t, resp)
		got = append(got, resp.Header.Get("X-Left"))
	}
	assert.Equal(t, []string{"p limit ||", "p limit ||", "p limit |", "p limit", ""}, got)
}
