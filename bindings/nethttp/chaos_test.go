package nethttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

// injectedAnswers are the answers to injected results.
var injectedAnswers = map[string]struct {
	status   int
	after    string
	replaced bool // by a fallback
}{
	"{fail: 100%}": {503, "", true},
	"{throttle: {rate: 100%, retry_after: 1500ms}}": {429, "2", true},
	"{ignore: 100%}": {400, "", false},
}

func TestInjectedAnswers(t *testing.T) {
	for step, want := range injectedAnswers {
		t.Run(step, func(t *testing.T) {
			p := policyOf(t, "steps:", "  - bulkhead: 1", "  - chaos: "+step)
			upstream := answers(status(200))
			served := 0
			h := nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), p)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			resp, err := nethttp.NewTransport(upstream, p, nethttp.WithRefusalAnswers()).RoundTrip(get(t, target))
			require.NoError(t, err)
			for _, answer := range []*http.Response{w.Result(), resp} {
				assert.Equal(t, want.status, answer.StatusCode)
				assert.Equal(t, "injected", answer.Header.Get("X-Throttle-Reason"))
				assert.Equal(t, want.after, answer.Header.Get("Retry-After"))
				var body told
				require.NoError(t, json.NewDecoder(answer.Body).Decode(&body))
				assert.Equal(t, told{
					Type: "about:blank", Title: http.StatusText(want.status), Status: want.status, Reason: "injected", Step: "chaos",
					Detail: "A chaos step of the policy gives this answer in place of the service.",
				}, body)
			}
			assert.Zero(t, served)
			assert.Empty(t, upstream.seen)
		})
	}
}

func TestInjectedErrorOfATransport(t *testing.T) {
	p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none}", "  - chaos: {fail: 100%}")
	client := &http.Client{Transport: nethttp.NewTransport(answers(status(200)), p)}
	_, err := client.Do(get(t, target))
	require.ErrorIs(t, err, sluice.ErrInjected)
	var gaveUp *sluice.RetryError
	require.ErrorAs(t, err, &gaveUp)
	assert.Equal(t, 2, gaveUp.Attempts)
}

// TestFallbackOfInjections: a fallback replaces the outcomes that it covers.
func TestFallbackOfInjections(t *testing.T) {
	for step, want := range injectedAnswers {
		p := policyOf(t, "steps:", "  - chaos: "+step, "fallback: {status: 418, body: later}")
		status418 := http.StatusTeapot
		if !want.replaced {
			status418 = want.status
		}
		w := httptest.NewRecorder()
		nethttp.NewHandler(http.NotFoundHandler(), p).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		assert.Equal(t, status418, w.Code, step)
		resp, err := nethttp.NewTransport(answers(status(200)), p).RoundTrip(get(t, target))
		if !want.replaced {
			require.ErrorIs(t, err, sluice.ErrInjected)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, http.StatusTeapot, resp.StatusCode, step)
		text(t, resp)
	}
}

// TestInjectedLatencyOfAHandler has the handler start after the latency.
func TestInjectedLatencyOfAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - breaker: {window: {calls: 1}, slow: {over: 1s, rate: 100%}, open: 1m}", "  - chaos: {slow: {rate: 100%, by: 2s}}")
		began := time.Now()
		h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			assert.Equal(t, 2*time.Second, time.Since(began))
			w.WriteHeader(http.StatusNoContent)
		}), p)
		for _, want := range []int{http.StatusNoContent, http.StatusServiceUnavailable} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			assert.Equal(t, want, w.Code, "the breaker counts the latency as slow")
		}
		_, err := p.Begin(t.Context(), sluice.Request{})
		var refused *sluice.RejectedError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, reducer.ReasonOpen, refused.Reason)
	})
}
