package nethttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// answersAfter answers after a time with a status and the number of the attempt, or fails
// with the end of its context.
func answersAfter(code int, after time.Duration) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		select {
		case <-time.After(after):
			return status(code)(r)
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
}

func hedged(t *testing.T) *sluice.Pipeline {
	return policyOf(t, "steps:", "  - hedge: {after: 1s, methods: [GET, PUT]}", "  - bulkhead: 5")
}

func place(p *sluice.Pipeline) string { return p.State()[len(p.State())-1].Text }

func TestHedgedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hedged(t)
		next := answers(answersAfter(200, time.Hour), answersAfter(200, time.Second))
		began := time.Now()
		resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(began))
		synctest.Wait()
		require.ErrorIs(t, context.Cause(next.seen[0].Context()), sluice.ErrHedgeLost)
		assert.Equal(t, "held 1/5", place(p), "until the body is closed")
		text(t, resp)
		assert.Equal(t, "held 0/5", place(p))
		info, ok := nethttp.Info(resp)
		assert.True(t, ok)
		assert.Equal(t, nethttp.Details{Policy: "p", Attempts: 2}, info)
	})
}

// TestAnswersOfLosersAreClosed has a loser answer all the same, and a failing answer
// before the winner's.
func TestAnswersOfLosersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := hedged(t)
		stubborn := func(r *http.Request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return status(200)(r)
		}
		for _, first := range []func(*http.Request) (*http.Response, error){stubborn, answersAfter(500, 1500*time.Millisecond)} {
			next := answers(first, answersAfter(200, time.Second))
			resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target))
			require.NoError(t, err)
			assert.Equal(t, 200, resp.StatusCode)
			text(t, resp)
			time.Sleep(time.Minute)
			assert.Zero(t, next.bodies.Load())
			assert.Equal(t, "held 0/5", place(p))
		}
		next := answers(answersAfter(500, 3*time.Second), answersAfter(503, 3*time.Second))
		resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 503, resp.StatusCode, "the last failure")
		assert.EqualValues(t, 1, next.bodies.Load())
		assert.NotEmpty(t, text(t, resp))
		time.Sleep(time.Minute)
		assert.Zero(t, next.bodies.Load())
		assert.Equal(t, "held 0/5", place(p))
	})
}

func TestWhatIsHedged(t *testing.T) {
	for name, c := range map[string]struct {
		method, key string
		body        io.Reader
		sent        []string
		why         string
	}{
		"a method of the hedge": {method: "PUT", body: strings.NewReader("body"), sent: []string{"body", "body"}},
		"another method":        {method: "POST", body: strings.NewReader("body"), sent: []string{"body"}, why: "POST is not idempotent, and there is no Idempotency-Key"},
		"an idempotency key":    {method: "POST", key: "1", sent: []string{"", ""}},
		"a body that is read once": {method: "PUT", body: io.MultiReader(strings.NewReader("body")), sent: []string{"body"},
			why: "the body cannot be read twice at once"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := answers(answersAfter(200, 3*time.Second))
				req := request(t, c.method, target, c.body)
				if c.key != "" {
					req.Header.Set("Idempotency-Key", c.key)
				}
				resp, err := nethttp.NewTransport(next, hedged(t)).RoundTrip(req)
				require.NoError(t, err)
				text(t, resp)
				assert.Equal(t, c.sent, next.sent)
				info, _ := nethttp.Info(resp)
				assert.Equal(t, c.why, info.NoHedge)
				assert.Equal(t, len(c.sent), info.Attempts)
				synctest.Wait()
			})
		})
	}
}
