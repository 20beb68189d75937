package simtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/pipes"
	"github.com/sluice-go/sluice/sim/simtest"
)

// policies of the scenarios here, of which the first has no jitter.
const policies = `version: 1
policies:
  exact:
    steps:
      - timeout: 1s
      - retry: {attempts: 3, backoff: {exponential: 20ms}, jitter: none}
      - breaker: {window: {calls: 40}, minimum: 20, failure_rate: 50%, open: 500ms, probes: 3}
      - limit: {rate: 80/s, burst: 10, wait: 100ms, queue: 5}
      - bulkhead: {concurrent: 12, queue: 4, wait: 50ms}
      - timeout: 150ms
  jitter:
    steps:
      - timeout: 1s
      - retry: {attempts: 4, backoff: {exponential: 50ms}, budget: 20%}
      - breaker: {window: {calls: 40}, minimum: 20, failure_rate: 50%, open: 500ms, probes: 3}
      - timeout: 150ms
  hedged:
    steps:
      - retry: {attempts: 2, backoff: {exponential: 20ms}, jitter: none}
      - hedge: {after: 80ms}
      - limit: {rate: 200/s, burst: 20}
`

// brownout is a service that slows down, fails, throttles and stops.
func brownout(policy, more string) string {
	_, inside, _ := strings.Cut(policies, "version: 1\n")
	return `version: 1
duration: 60s
warmup: 2s
` + inside + `clients:
  - name: web
    to: vendor
    policy: ` + policy + `
    arrivals: {steps: [{for: 20s, poisson: 50/s}, {for: 20s, poisson: 110/s}, {for: 20s, poisson: 60/s}]}
    ` + more + `
services:
  - name: vendor
    servers: 8
    queue: 20
    time: {constant: 70ms}
    faults:
      - {at: 10s, for: 3s, slow: 3}
      - {at: 18s, for: 2s, fail: 100%}
      - {at: 30s, for: 1s, throttle: 100%, retry_after: 1s}
      - {at: 50s, for: 300ms, pause: true}
`
}

// pipeline returns the pipeline of a policy, with the seed of the simulated one.
func pipeline(t testing.TB, name string) *sluice.Pipeline {
	t.Helper()
	set, err := sluice.Parse("policy.yaml", []byte(policies), sluice.WithSeed(1))
	require.NoError(t, err)
	return set.Pipeline(name)
}

// through makes calls through a pipeline to the service vendor.
func through(name string) func(*testing.T, *simtest.World) simtest.Caller {
	return func(t *testing.T, w *simtest.World) simtest.Caller {
		p, vendor := pipeline(t, name), w.Service("vendor")
		w.Watch("web", p)
		return func(ctx context.Context, call simtest.Call) error {
			_, err := sluice.DoWith(ctx, p, call.Request(), func(ctx context.Context) (struct{}, error) {
				return struct{}{}, vendor.Do(ctx)
			})
			return err
		}
	}
}

// resultOf returns the result of a run as its JSON, to compare all of it.
func resultOf(r *simtest.Runs) map[string]any {
	var value map[string]any
	if err := json.Unmarshal(r.Results()[0].AppendJSON(nil), &value); err != nil {
		panic(err)
	}
	return value
}

// TestRealPipelineIsTheSimulatedOne compares the results of the simulator with the results of
// a pipeline of package sluice in the same scenario: they are equal in every figure.
func TestRealPipelineIsTheSimulatedOne(t *testing.T) {
	open := brownout("exact", "")
	a, b := strings.Index(open, "arrivals:"), strings.Index(open, "services:")
	for name, text := range map[string]string{
		"open":     open,
		"closed":   open[:a] + "arrivals: {closed: {users: 30, think: {exponential: 300ms}}}\n" + open[b:],
		"deadline": brownout("exact", "deadline: 120ms"),
		"patience": brownout("exact", "patience: {exponential: 200ms}"),
	} {
		t.Run(name, func(t *testing.T) {
			s := simtest.Parse(t, text)
			assert.Equal(t, resultOf(simtest.Run(t, s)), resultOf(simtest.Drive(t, s, through("exact"))))
		})
	}
}

// TestRealPipelineIsNearTheSimulatedOne has scenarios in which several calls have
// something due at one mark: the scheduler draws their order. The
// figures differ by less than a twentieth. With jitter they differ for another reason: a
// pipeline numbers its calls in the order in which they ask.
func TestRealPipelineIsNearTheSimulatedOne(t *testing.T) {
	guard := strings.NewReplacer(
		"policies:\n", "policies:\n  guard: {steps: [{limit: {rate: 60/s, burst: 5}}, {bulkhead: {concurrent: 6, queue: 2}}]}\n",
		"    servers: 8\n", "    servers: 8\n    policy: guard\n    abandon: true\n    calls: [{to: store, policy: exact}]\n",
	)
	for name, c := range map[string]struct{ policy, text string }{
		"jitter": {"jitter", brownout("jitter", "")},
		"repeat": {"exact", brownout("exact", "repeats: {times: 2, wait: {exponential: 100ms}}")},
		"hedged": {"hedged", strings.Replace(brownout("hedged", ""), "time: {constant: 70ms}", "time: {uniform: [10ms, 120ms]}", 1)},
		"guard": {"exact", guard.Replace(brownout("exact", "")) +
			"  - {name: store, servers: 6, time: {uniform: [5ms, 30ms]}, fail: 2%}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := simtest.Parse(t, c.text)
			simulated := simtest.Run(t, s).Results()[0].Client("web")
			driven := simtest.Drive(t, s, through(c.policy)).Results()[0].Client("web")
			assert.Equal(t, simulated.Calls-simulated.Repeats, driven.Calls-driven.Repeats)
			assert.InEpsilon(t, simulated.OK, driven.OK, 0.05)
			assert.InEpsilon(t, simulated.Refused, driven.Refused, 0.05)
			assert.InEpsilon(t, simulated.Attempts, driven.Attempts, 0.05)
			assert.InEpsilon(t, simulated.Latency.Mean, driven.Latency.Mean, 0.05)
		})
	}
}

// TestRealHTTP drives a client and a server of net/http over pipes, with the policy in
// a Transport. A request that is given up reaches the server as a closed connection, at
// the same mark.
func TestRealHTTP(t *testing.T) {
	s := simtest.Parse(t, brownout("exact", ""))
	simulated := resultOf(simtest.Run(t, s))
	setup := func(t *testing.T, w *simtest.World) simtest.Caller {
		listener := pipes.Listen()
		server := &http.Server{Handler: w.Service("vendor")}
		go func() { _ = server.Serve(listener) }() // it ends when it is closed
		transport := &http.Transport{DialContext: listener.Dial}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			assert.NoError(t, server.Close())
		})
		p := pipeline(t, "exact")
		w.Watch("web", p)
		client := &http.Client{Transport: nethttp.NewTransport(transport, p)}
		return func(ctx context.Context, call simtest.Call) error { return get(ctx, client, call) }
	}
	assert.Equal(t, simulated, resultOf(simtest.Drive(t, s, setup)))
}

// get makes a request and returns an error where the answer is not 200.
func get(ctx context.Context, client *http.Client, call simtest.Call) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://vendor/", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set(call.Header())
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return &simtest.AnswerError{Service: "vendor"}
	}
	return nil
}

// one is a service that a client of the name web calls once a second.
func one(client, service string) string {
	return "version: 1\nduration: 10s\nclients:\n  - {name: web, to: vendor, arrivals: {constant: 1/s}" + client +
		"}\nservices:\n  - {name: vendor, " + service + "}\n"
}

// TestWorld has what calls and services are to the code under test.
func TestWorld(t *testing.T) {
	type answer struct {
		status int
		after  string
	}
	drive := func(t *testing.T, text string, call func(w *simtest.World, ctx context.Context, call simtest.Call) error) *simtest.Runs {
		return simtest.Drive(t, simtest.Parse(t, text), func(_ *testing.T, w *simtest.World) simtest.Caller {
			return func(ctx context.Context, c simtest.Call) error { return call(w, ctx, c) }
		})
	}
	request := func(ctx context.Context) *http.Request {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://vendor/", strings.NewReader("a body"))
		return r
	}
	t.Run("answers", func(t *testing.T) {
		for service, want := range map[string]answer{
			"time: 20ms":             {http.StatusOK, ""},
			"time: 20ms, fail: 100%": {http.StatusInternalServerError, ""},
			"time: 20ms, faults: [{at: 0s, for: 10s, throttle: 100%, retry_after: 1500ms}]": {http.StatusTooManyRequests, "2"},
			"time: 20ms, faults: [{at: 0s, for: 10s, throttle: 100%}]":                      {http.StatusTooManyRequests, ""},
		} {
			runs := drive(t, one("", service), func(w *simtest.World, ctx context.Context, c simtest.Call) error {
				vendor := w.Service("vendor")
				served := httptest.NewRecorder()
				vendor.ServeHTTP(served, request(ctx))
				assert.Equal(t, want, answer{served.Code, served.Header().Get("Retry-After")}, service)
				got, err := vendor.RoundTrip(request(ctx))
				if assert.NoError(t, err) {
					assert.Equal(t, want, answer{got.StatusCode, got.Header.Get("Retry-After")}, service)
				}
				err = vendor.Do(ctx)
				var bad *simtest.AnswerError
				assert.Equal(t, want.status != http.StatusOK, errors.As(err, &bad))
				if bad != nil {
					after, told := bad.RetryAfter()
					assert.Equal(t, want.after != "", told, service)
					assert.Equal(t, told, after == 1500*time.Millisecond)
				}
				return err
			})
			c := runs.Results()[0].Client("web")
			assert.EqualValues(t, 30, c.Attempts, service)
			assert.Equal(t, want.status == http.StatusOK, c.OK == 10, service)
			assert.EqualValues(t, 10, c.OK+c.Failed, service)
		}
	})
	t.Run("calls", func(t *testing.T) {
		text := one(", key: only, cost: {constant: 3}, attributes: {tier: gold}", "time: 20ms")
		numbers := uint64(0)
		drive(t, text, func(w *simtest.World, ctx context.Context, c simtest.Call) error {
			numbers++
			assert.Equal(t, simtest.Call{Client: "web", Number: numbers, Key: "only", Cost: 3, Attributes: map[string]string{"tier": "gold"}}, c)
			q := c.Request()
			assert.Equal(t, "gold", q.Lookup("tier"))
			assert.Equal(t, uint32(3), q.Cost)
			return nil
		})
		assert.EqualValues(t, 10, numbers)
		assert.Equal(t, uint32(sluice.NoCost), simtest.Call{}.Request().Cost)
	})
	t.Run("cache", func(t *testing.T) {
		// The second call of a key is a hit, by the context of the call or by its header.
		for name, do := range map[string]func(w *simtest.World, ctx context.Context, c simtest.Call) error{
			"context": func(w *simtest.World, ctx context.Context, c simtest.Call) error { return w.Service("vendor").Do(ctx) },
			"header": func(w *simtest.World, ctx context.Context, c simtest.Call) error {
				r := request(context.WithoutCancel(context.Background()))
				r.Header.Set(c.Header())
				_, err := w.Service("vendor").RoundTrip(r)
				return err
			},
		} {
			runs := drive(t, one(", key: {uniform: 2}", "time: 200ms, cache: {hit: 1ms}"), do)
			c := runs.Results()[0].Client("web")
			assert.EqualValues(t, 10, c.OK, name)
			assert.Equal(t, 200*time.Millisecond, c.Latency.Max, name)
			assert.Less(t, c.Latency.P50, 2*time.Millisecond, name)
			assert.EqualValues(t, 1, c.Worst.Attempts, name)
		}
	})
	t.Run("ends", func(t *testing.T) {
		var mu sync.Mutex
		errs := map[string]int{}
		runs := drive(t, one("", "time: 2500ms, servers: 9"), func(w *simtest.World, ctx context.Context, _ simtest.Call) error {
			err := w.Service("vendor").Do(ctx)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs[err.Error()]++
				assert.ErrorIs(t, w.Service("vendor").Do(context.Background()), simtest.ErrOver)
			}
			return err
		})
		assert.Equal(t, map[string]int{simtest.ErrOver.Error(): 2}, errs)
		assert.EqualValues(t, 2, runs.Results()[0].Client("web").Unfinished)
	})
	t.Run("gives up", func(t *testing.T) {
		runs := drive(t, one(", deadline: 100ms", "time: 200ms"), func(w *simtest.World, ctx context.Context, _ simtest.Call) error {
			err := w.Service("vendor").Do(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorIs(t, w.Service("vendor").Do(ctx), context.DeadlineExceeded)
			return err
		})
		r := runs.Results()[0]
		assert.EqualValues(t, 10, r.Client("web").Failed)
		assert.EqualValues(t, 10, r.Service("vendor").Wasted)
	})
	t.Run("names", func(t *testing.T) {
		drive(t, one("", "time: 200ms"), func(w *simtest.World, _ context.Context, _ simtest.Call) error {
			assert.Panics(t, func() { w.Service("wendor") })
			assert.Panics(t, func() { w.Watch("wep", pipeline(t, "exact")) })
			return nil
		})
	})
}

// TestDriveFails shows the failure of a requirement on real code: the code runs again
// in each scenario that shrinking tries, and its breakers are seen by Watch.
func TestDriveFails(t *testing.T) {
	for name, required := range map[string]func(*simtest.Runs){
		"drive-goodput": func(r *simtest.Runs) { r.RequireGoodput(0.99) },
		"drive-closed":  func(r *simtest.Runs) { r.RequireStaysClosed() },
		"drive-opens":   func(r *simtest.Runs) { r.RequireOpensWithinCalls(5) },
	} {
		runs := simtest.Drive(t, simtest.Parse(t, brownout("exact", "")), through("exact"))
		message, _ := failure(t, func(t testing.TB) { required(runs.On(t)) })
		require.NotEmpty(t, message)
		golden(t, "failures/"+name+".txt", message)
	}
}

// TestClocksOfRealCodeDoNotJump ends the test of a scenario with jumps.
func TestClocksOfRealCodeDoNotJump(t *testing.T) {
	s := simtest.Parse(t, one(", clock: [{at: 1s, back: 1s}]", "time: 1ms"))
	message, _ := failure(t, func(t testing.TB) { simtest.Jumps(t, s) })
	assert.Contains(t, message, "client web: the clock of real code cannot jump")
}
