package nethttp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

// TestMistakesOfResponseOutcome: what it gives that is no outcome, and a panic, leave the
// outcome of the status.
func TestMistakesOfResponseOutcome(t *testing.T) {
	for name, f := range map[string]func() reducer.Outcome{
		"zero":    func() reducer.Outcome { return 0 },
		"unknown": func() reducer.Outcome { return 99 },
		"panics":  func() reducer.Outcome { panic("own") },
	} {
		for _, steps := range []string{"[{breaker: {window: {consecutive: 2}}}, {bulkhead: 2}]", "[{breaker: {window: {consecutive: 2}}}, {hedge: {after: 1h}}, {bulkhead: 2}]"} {
			for code, want := range map[int]string{200: "closed", 404: "closed", 500: "open"} {
				t.Run(name, func(t *testing.T) {
					p, next := policyOf(t, "steps: "+steps), answers(status(code))
					tr := nethttp.NewTransport(next, p, nethttp.WithResponseOutcome(func(*http.Response, reducer.Outcome) reducer.Outcome { return f() }))
					for range 2 {
						if name == "panics" {
							assert.PanicsWithValue(t, "own", func() { _, _ = tr.RoundTrip(get(t, target)) }) //nolint:bodyclose // there is no answer
							continue
						}
						resp, err := tr.RoundTrip(get(t, target))
						require.NoError(t, err)
						assert.Equal(t, code, resp.StatusCode)
						text(t, resp)
					}
					assert.Equal(t, want, mode(p), "%d", code)
					assert.Equal(t, 2, free(t, p))
					assert.Zero(t, next.bodies.Load())
				})
			}
		}
	}
}
