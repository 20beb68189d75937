package nethttp_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

// TestDeadlineOfARequest has a handler that waits for the end of the context, under a
// timeout of 10s and a breaker that opens at the first failure.
func TestDeadlineOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		header, value string
		most          time.Duration
		after         time.Duration
		status        int
		mode          string
	}{
		"shorter than the policy":  {nethttp.DeadlineHeader, "500", 0, 500 * time.Millisecond, 503, "closed"},
		"longer than the policy":   {nethttp.DeadlineHeader, "20000", 0, 10 * time.Second, 503, "open"},
		"longer than the bound":    {nethttp.DeadlineHeader, "8000", 2 * time.Second, 2 * time.Second, 503, "closed"},
		"none":                     {"X-Other", "500", time.Second, 10 * time.Second, 503, "open"},
		"passed already":           {nethttp.DeadlineHeader, "0", 0, 0, 503, "closed"},
		"negative":                 {nethttp.DeadlineHeader, "-1", 0, 10 * time.Second, 503, "open"},
		"not a number":             {nethttp.DeadlineHeader, "1s", 0, 10 * time.Second, 503, "open"},
		"longer than a Duration":   {nethttp.DeadlineHeader, "18446744073709551615", 0, 10 * time.Second, 503, "open"},
		"of gRPC":                  {"grpc-timeout", "1500m", 0, 1500 * time.Millisecond, 503, "closed"},
		"of gRPC, long":            {"grpc-timeout", "99999999H", 0, 10 * time.Second, 503, "open"},
		"of gRPC, short":           {"grpc-timeout", "99999n", 0, 99999, 503, "closed"},
		"of gRPC, without a unit":  {"grpc-timeout", "99", 0, 10 * time.Second, 503, "open"},
		"of gRPC, without a value": {"grpc-timeout", "", 0, 10 * time.Second, 503, "open"},
	} {
		// With a bulkhead a call does not take the fast path.
		for i := range 4 {
			answers, last := i&1 == 0, []string{"  - limit: 10/1s", "  - bulkhead: 1"}[i>>1]
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h}", "  - timeout: 10s", last)
					field := c.header
					if c.header == "X-Other" {
						field = nethttp.DeadlineHeader
					}
					h := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						<-r.Context().Done()
						if answers {
							w.WriteHeader(503)
						}
					}), p, nethttp.WithDeadlineHeader(field, c.most))
					r := get(t, "/")
					r.Header.Set(c.header, c.value)
					start := time.Now()
					w := serve(h, r)
					assert.Equal(t, c.status, w.Code)
					assert.Equal(t, c.after, time.Since(start))
					assert.Equal(t, c.mode, p.State()[0].Mode)
					if i>>1 == 1 {
						assert.Equal(t, 1, free(t, p))
					}
					if !answers {
						assert.Contains(t, w.Body.String(), `"reason":"timeout"`)
					}
				})
			})
		}
	}
}

// TestDeadlineOfARequestOfGRPC is in its own field, whatever the name of the other.
func TestDeadlineOfARequestOfGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		kind, own string
		after     time.Duration
	}{
		"of gRPC":             {"application/grpc+proto", "", 300 * time.Millisecond},
		"the shorter of both": {"application/grpc", "200", 200 * time.Millisecond},
		"of another request":  {"application/json", "", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := nethttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
					policyOf(t, "steps:", "  - timeout: 10s"), nethttp.WithDeadlineHeader(nethttp.DeadlineHeader, 0))
				r := get(t, "/")
				r.Header.Set("Content-Type", c.kind)
				r.Header.Set("Grpc-Timeout", "300m")
				if c.own != "" {
					r.Header.Set(nethttp.DeadlineHeader, c.own)
				}
				start := time.Now()
				w := serve(h, r)
				assert.Equal(t, c.after, time.Since(start))
				if c.kind != "application/json" {
					assert.Equal(t, "4", w.Header().Get("Grpc-Status"))
				}
			})
		})
	}
}

// TestDeadlineOfARequestThatWouldWait is known when it comes.
func TestDeadlineOfARequestThatWouldWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - limit: {rate: 1/1s, burst: 1, queue: 5, wait: 10s}")
		h := nethttp.NewHandler(says(200, "ok"), p, nethttp.WithDeadlineHeader(nethttp.DeadlineHeader, 0))
		assert.Equal(t, 200, serve(h, get(t, "/")).Code)
		r := get(t, "/")
		r.Header.Set(nethttp.DeadlineHeader, "500")
		w := serve(h, r)
		assert.Equal(t, 429, w.Code)
		assert.Equal(t, "deadline", w.Header().Get("X-Throttle-Reason"))
		r.Header.Set(nethttp.DeadlineHeader, "1500")
		assert.Equal(t, 200, serve(h, r).Code)
	})
}

// TestDeadlineIsSentOn with each attempt.
func TestDeadlineIsSentOn(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		own   string
		most  time.Duration
		steps []string
		want  []string
	}{
		"what is left":           {nethttp.DeadlineHeader, "", 0, []string{"steps:", "  - timeout: 5s", "  - retry: {attempts: 2, backoff: {constant: 2s}, jitter: none}"}, []string{"5000", "3000"}},
		"of the attempt":         {nethttp.DeadlineHeader, "", 0, []string{"steps:", "  - timeout: 5s", "  - retry: {attempts: 2, backoff: {constant: 2s}, jitter: none}", "  - timeout: 1500ms"}, []string{"1500", "1500"}},
		"bounded":                {nethttp.DeadlineHeader, "", time.Second, []string{"steps:", "  - timeout: 5s"}, []string{"1000"}},
		"the request's, shorter": {nethttp.DeadlineHeader, "70", 0, []string{"steps:", "  - timeout: 5s"}, []string{"70"}},
		"the request's, longer":  {nethttp.DeadlineHeader, "7000", 0, []string{"steps:", "  - timeout: 5s"}, []string{"5000"}},
		"none":                   {nethttp.DeadlineHeader, "", 0, []string{"steps:", "  - limit: 10/1s"}, []string{""}},
		"less than a unit":       {nethttp.DeadlineHeader, "", 0, []string{"steps:", "  - timeout: 10us"}, []string{"1"}},
		"of gRPC":                {"grpc-timeout", "", 0, []string{"steps:", "  - timeout: 5s"}, []string{"5000000u"}},
		"of gRPC, long":          {"grpc-timeout", "", 0, []string{"steps:", "  - timeout: 48h"}, []string{"172800S"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := answers(status(503))
				r := get(t, target)
				if c.own != "" {
					r.Header.Set(c.field, c.own)
				}
				before := r.Header.Clone()
				resp, err := nethttp.NewTransport(next, policyOf(t, c.steps...), nethttp.WithDeadlineHeader(c.field, c.most)).RoundTrip(r)
				require.NoError(t, err)
				text(t, resp)
				var got []string
				for _, sent := range next.seen {
					got = append(got, sent.Header.Get(c.field))
				}
				assert.Equal(t, c.want, got)
				assert.Equal(t, before, r.Header, "the caller's own request")
			})
		})
	}
}

func TestHeadersAreCarried(t *testing.T) {
	carries := nethttp.WithCarriedHeaders("priority", "x-request-id", "x-long")
	next := answers(status(200))
	client := nethttp.NewTransport(next, policyOf(t, "steps:", "  - retry: 2"), carries)
	send := func(r *http.Request, header ...string) {
		out := get(t, target).WithContext(r.Context())
		for i := 0; i < len(header); i += 2 {
			out.Header.Set(header[i], header[i+1])
		}
		resp, err := client.RoundTrip(out)
		require.NoError(t, err)
		text(t, resp)
	}
	h := nethttp.NewHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		r.Header.Set("Priority", "changed")
		send(r)
		send(r, "X-Request-Id", "own")
	}), policyOf(t, "steps:", "  - limit: 10/1s"), carries)
	in := httptest.NewRequest("GET", "/", nil)
	in.Header = http.Header{"Priority": {"u=1", "i"}, "X-Request-Id": {"42"}, "X-Long": {string(make([]byte, 1025))}, "X-Other": {"1"}}
	serve(h, in)
	send(get(t, "/")) // of no handler
	want := []http.Header{
		{"Priority": {"u=1", "i"}, "X-Request-Id": {"42"}},
		{"Priority": {"u=1", "i"}, "X-Request-Id": {"own"}},
		{},
	}
	require.Len(t, next.seen, len(want))
	for i, sent := range next.seen {
		assert.Equal(t, want[i], sent.Header)
	}
}

// TestResponseOutcome has a dependency that says in a header that it failed.
func TestResponseOutcome(t *testing.T) {
	p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none}", "  - breaker: {window: {consecutive: 2}, open: 1h}")
	var heard []reducer.Outcome
	tr := nethttp.NewTransport(answers(status(200, "X-Failed", "yes"), status(404), status(200, "X-Failed", "yes"), status(200, "X-Failed", "yes")), p,
		nethttp.WithResponseOutcome(func(resp *http.Response, o reducer.Outcome) reducer.Outcome {
			heard = append(heard, o)
			if resp.Header.Get("X-Failed") != "" {
				return reducer.Fail
			}
			return o
		}))
	resp, err := tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	assert.Equal(t, "Not Found", text(t, resp))
	assert.Equal(t, []reducer.Outcome{reducer.OK, reducer.Ignore}, heard)
	resp, err = tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	assert.Equal(t, "OK", text(t, resp), "the last answer is returned as it is")
	info, _ := nethttp.Info(resp)
	assert.NotEqual(t, reducer.NoReason, info.GaveUp)
	assert.Equal(t, "open", p.State()[len(p.State())-1].Mode)
}
