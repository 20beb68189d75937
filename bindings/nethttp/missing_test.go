package nethttp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// TestMissingPolicyRefuses guards requests with pipelines that have no policy.
func TestMissingPolicyRefuses(t *testing.T) {
	set, err := sluice.Parse("p.yaml", []byte("version: 1\npolicies: {vendor: {steps: [limit: 1/h]}}"))
	require.NoError(t, err)
	for _, p := range []*sluice.Pipeline{nil, set.Pipeline("vendr")} {
		next := answers(status(200))
		var unknown *sluice.UnknownPolicyError
		_, err = nethttp.NewTransport(next, p).RoundTrip(get(t, target))
		require.ErrorAs(t, err, &unknown)
		own := nethttp.NewTransport(next, set.Pipeline("vendor"))
		_, err = own.RoundTrip(get(t, target).WithContext(nethttp.WithPolicy(t.Context(), p)))
		require.ErrorAs(t, err, &unknown)
		assert.Empty(t, next.seen)

		serves := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })
		for _, h := range []http.Handler{nethttp.NewHandler(serves, p), nethttp.Middleware(p)(serves)} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			assert.Equal(t, http.StatusInternalServerError, w.Code)
			assert.JSONEq(t, `{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"The policy of this service is missing.","reason":"policy"}`, w.Body.String())
		}
	}
}

// TestNestedTransports has a policy around another one see its refusals.
func TestNestedTransports(t *testing.T) {
	next := answers(status(200), status(200))
	inner := nethttp.NewTransport(next, policyOf(t, "steps:", "  - limit: {rate: 1/1h}"))
	p := policyOf(t, "steps:", "  - timeout: 1m", "  - retry: {attempts: 3, backoff: none}", "  - breaker: {window: {consecutive: 1}}")
	outer := nethttp.NewTransport(inner, p)
	resp, err := outer.RoundTrip(get(t, target))
	require.NoError(t, err)
	text(t, resp)
	_, err = outer.RoundTrip(get(t, target))
	var gaveUp *sluice.RetryError
	require.ErrorAs(t, err, &gaveUp)
	assert.Equal(t, sluice.ReasonDeadline, gaveUp.Reason, "the retry-after of an hour is beyond the timeout")
	assert.Equal(t, 1, gaveUp.Attempts)
	assert.Equal(t, "closed", p.State()[0].Mode)
}

// TestKeyless: per key without a function that returns one is told when a handler or transport is
// made, as an error where nothing says what becomes of a missing key.
func TestKeyless(t *testing.T) {
	key := nethttp.WithKey(func(r *http.Request) string { return r.Host })
	for settings, want := range map[string]string{
		"per: key":                           "ERROR",
		"per: [ip, key]":                     "ERROR",
		"per: key, missing: deny":            "WARN",
		"per: key, missing: skip":            "WARN",
		"per: ip":                            "",
		"per: 'header:x-key', missing: deny": "",
	} {
		p := policyOf(t, "steps:", "  - limit: {rate: 1/1m, "+settings+"}")
		for _, with := range []bool{false, true} {
			var log bytes.Buffer
			options := []nethttp.Option{nethttp.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
			if with {
				options = append(options, key)
			}
			nethttp.NewHandler(says(200, ""), p, options...)
			nethttp.NewTransport(http.DefaultTransport, p, options...)
			if want == "" || with {
				assert.Empty(t, log.String(), settings)
			} else {
				assert.Equal(t, 2, strings.Count(log.String(), "level="+want), "%s: %s", settings, log.String())
			}
		}
	}
}
