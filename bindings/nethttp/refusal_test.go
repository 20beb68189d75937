package nethttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

func TestRefusalIsAnErrorByDefault(t *testing.T) {
	tr := nethttp.NewTransport(answers(status(200)), policyOf(t, "steps:", "  - limit: {rate: 1/h}"))
	resp, err := tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	text(t, resp)
	client := &http.Client{Transport: tr}
	_, err = client.Do(get(t, target))
	var refused *sluice.RejectedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "limit", refused.Step)
	assert.Equal(t, reducer.ReasonRate, refused.Reason)
	assert.Greater(t, refused.RetryAfter, 59*time.Minute)
}

// told is what a refused caller reads.
type told struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Violated []string `json:"violated-policies"`
	Reason   string   `json:"reason"`
	Step     string   `json:"step"`
}

const (
	quota    = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	capacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

func TestRefusalAsAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		step   string
		status int
		kind   string
		reason string
		after  string
	}{
		"rate":          {"limit: {rate: 2/1m, burst: 1}", 429, quota, "rate", "30"},
		"wait":          {"limit: {rate: 2/1m, burst: 1, wait: 1s}", 429, quota, "wait", "29"},
		"capacity":      {"limit: {rate: 1/1m, burst: 1, name: broad}", 429, quota, "capacity", ""},
		"open":          {"breaker: {window: {consecutive: 1}, open: 1500ms}", 503, capacity, "open", "2"},
		"full":          {"bulkhead: 1", 503, capacity, "full", "1"},
		"wait for room": {"bulkhead: {concurrent: 1, wait: 1s}", 503, capacity, "wait", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := policyOf(t, "steps:", "  - "+c.step)
				cost := uint32(1)
				tr := nethttp.NewTransport(answers(failure(io.ErrUnexpectedEOF), status(200)), set,
					nethttp.WithRefusalAnswers(), nethttp.WithCost(func(*http.Request) uint32 { return cost }))
				if c.kind == quota || c.reason != "open" {
					tr = nethttp.NewTransport(answers(status(200)), set,
						nethttp.WithRefusalAnswers(), nethttp.WithCost(func(*http.Request) uint32 { return cost }))
				}
				first, err := tr.RoundTrip(get(t, target))
				if err == nil {
					defer first.Body.Close()
				}
				if c.reason == "capacity" {
					cost = 2
				}
				resp, err := tr.RoundTrip(get(t, target))
				require.NoError(t, err)
				assert.Equal(t, c.status, resp.StatusCode)
				assert.Equal(t, c.after, resp.Header.Get("Retry-After"))
				assert.Equal(t, c.reason, resp.Header.Get("X-Throttle-Reason"))
				assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
				body := text(t, resp)
				assert.EqualValues(t, len(body), resp.ContentLength)
				var p told
				require.NoError(t, json.Unmarshal([]byte(body), &p))
				assert.Equal(t, c.kind, p.Type)
				assert.Equal(t, c.status, p.Status)
				assert.Equal(t, c.reason, p.Reason)
				assert.Equal(t, []string{p.Step}, p.Violated)
				assert.NotEmpty(t, p.Title)
				assert.NotEmpty(t, p.Detail)
			})
		})
	}
}

func TestTimeoutAsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), policyOf(t, "steps:", "  - timeout: 1s"), nethttp.WithRefusalAnswers())
		resp, err := tr.RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
		assert.Contains(t, text(t, resp), `"step":"timeout"`)

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		_, err = tr.RoundTrip(get(t, target).WithContext(ctx))
		assert.ErrorIs(t, err, context.Canceled, "the caller gave up: no answer")
	})
}

func TestFallbackOfTheTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - timeout: 1s", "  - retry: {attempts: 2, backoff: none}", "  - limit: {rate: 5/1h}", "fallback: {status: 203, body: '{\"cached\": true}'}")
		for name, next := range map[string]func(*http.Request) (*http.Response, error){
			"answers": status(500),
			"errors":  failure(io.ErrUnexpectedEOF),
			"timeout": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
		} {
			s := answers(next)
			resp, err := nethttp.NewTransport(s, p).RoundTrip(get(t, target))
			require.NoError(t, err, name)
			assert.Equal(t, 203, resp.StatusCode, name)
			assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
			assert.Equal(t, `{"cached": true}`, text(t, resp))
			assert.Zero(t, s.bodies.Load(), name)
			info, _ := nethttp.Info(resp)
			assert.True(t, info.Fallback)
		}
		resp, err := nethttp.NewTransport(answers(status(200)), p).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 203, resp.StatusCode, "refused: the five permits are taken")
		assert.Empty(t, resp.Header.Get("Retry-After"))
		resp, err = nethttp.NewTransport(answers(status(200)), p, nethttp.WithRefusalAnswers()).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 203, resp.StatusCode)
		assert.Equal(t, "rate", resp.Header.Get("X-Throttle-Reason"))
		assert.NotEmpty(t, resp.Header.Get("Retry-After"))
		assert.Equal(t, `{"cached": true}`, text(t, resp))
		resp, err = nethttp.NewTransport(answers(status(404)), policyOf(t, "steps:", "  - timeout: 1s", "fallback: {body: x}")).RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 404, resp.StatusCode, "the caller's own mistake")
		text(t, resp)
	})
}

func TestRefusedAfterAFailingAttemptTellsOfIt(t *testing.T) {
	p := policyOf(t, "steps:", "  - retry: {attempts: 3, backoff: none}", "  - limit: {rate: 1/1h}")
	_, err := nethttp.NewTransport(answers(status(503)), p).RoundTrip(get(t, target))
	require.ErrorIs(t, err, sluice.ErrRejected)
	var answer *nethttp.StatusError
	require.ErrorAs(t, err, &answer)
	assert.Equal(t, 503, answer.StatusCode)
	assert.Equal(t, "HTTP 503 Service Unavailable", answer.Error())
}

func TestRateLimitHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:",
			"  - limit: {name: burst, rate: 50/1m, burst: 2}",
			"  - limit: {name: daily, rate: 1000/1d, algorithm: fixed-window}",
			"  - limit: {name: fast, rate: 3/1500ms}",
			"  - limit: {name: watched, rate: 1/1h, shadow: true}")
		tr := nethttp.NewTransport(answers(status(200)), p, nethttp.WithRateLimitHeaders(true),
			nethttp.WithLegacyHeaders(), nethttp.WithRefusalAnswers())
		var got []string
		for range 3 {
			resp, err := tr.RoundTrip(get(t, target))
			require.NoError(t, err)
			text(t, resp)
			h := resp.Header
			assert.Equal(t, `"burst";q=50;w=60, "daily";q=1000;w=86400, "fast";q=6;w=3`, h.Get("RateLimit-Policy"))
			got = append(got, h.Get("RateLimit"), h.Get("X-RateLimit-Limit")+" "+h.Get("X-RateLimit-Remaining")+" "+h.Get("X-RateLimit-Reset")+" "+h.Get("Retry-After"))
		}
		assert.Equal(t, []string{
			`"burst";r=1;t=2, "daily";r=999;t=86400, "fast";r=2;t=1`, "2 1 2 ",
			`"burst";r=0;t=2, "daily";r=998;t=86400, "fast";r=1;t=1`, "2 0 2 ",
			`"burst";r=0;t=2, "daily";r=998;t=86400, "fast";r=1;t=1`, "2 0 2 2",
		}, got)
	})
}
