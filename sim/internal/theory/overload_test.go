package theory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
)

// marks runs a scenario and returns when its policy admitted attempts.
func marks(t *testing.T, s *sim.Scenario) (at []time.Duration) {
	t.Helper()
	var log bytes.Buffer
	_, err := sim.Run(s, sim.Options{Log: &log})
	require.NoError(t, err)
	for line := range bytes.Lines(log.Bytes()) {
		if bytes.Contains(line, []byte(`"admit"`)) {
			var d struct{ At string }
			require.NoError(t, json.Unmarshal(line, &d))
			mark, err := time.ParseDuration(d.At)
			require.NoError(t, err)
			at = append(at, mark)
		}
	}
	return at
}

// most returns the most marks in any interval [t, t+window).
func most(at []time.Duration, window time.Duration) (most int) {
	first := 0
	for i := range at {
		for at[i]-at[first] >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// A fixed window admits its count at its end and again behind it: twice the count in
// less than a window, and a sliding counter nearly so many. A sliding log never admits
// more than the count; a token bucket at most its burst and what is refilled.
//
// Source: Tanenbaum, Computer Networks, 4th edition, 2003, section 5.3.3 (bursts of a
// leaky and of a token bucket).
func TestBoundaryBurst(t *testing.T) {
	for limit, want := range map[string]int{
		// The window opens with a call at 0, which is not in the interval.
		"{rate: 100/1s, algorithm: fixed-window}": 199,
		// The counter takes the calls of the window before as spread over it.
		"{rate: 100/1s, algorithm: sliding-counter}": 198,
		"{rate: 100/1s, algorithm: sliding-log}":     100,
		"{rate: 100/1s, burst: 1}":                   100,
		// 10 ms between permits: in [t, t + 1s) 99 of them at t + 10ms and later.
		"{rate: 100/1s, burst: 100}": 199,
	} {
		at := marks(t, parse(t, fmt.Sprintf(`version: 1
			duration: 10s
			policies: {p: {steps: [{limit: %s}]}}
			clients:
			- {name: web, to: api, policy: p, arrivals: {steps: [
				{for: 999ms, constant: 1/999ms}, {for: 2s, constant: 100000/s}]}}
			services: [{name: api, servers: 100000, time: 1ms}]`, limit)))
		assert.Equal(t, want, most(at, time.Second), limit)
	}
}

// overload is a service that gets more calls than it can answer, whose callers have
// given up after a second.
func overload(policy, service string) string {
	return fmt.Sprintf(`version: 1
		duration: 100s
		policies: {p: {steps: [%s]}}
		clients: [{name: web, to: api, policy: p, arrivals: {constant: 150/s}}]
		services: [{name: api, time: 10ms%s}]`, policy, service)
}

// A queue without bound collapses under a load of 150 %: the call that arrives at t
// waits (1.5 - 1) t, so that the calls from t = (1s - 10ms) / 0.5 on end too late, and
// all the work for them is wasted. A short queue, or fewer calls at once, keep the
// goodput at the capacity of 100 calls a second.
//
// Source: Kleinrock, Queueing Systems, volume 2, 1976, section 2.7 (the fluid
// approximation); Nichols and Jacobson, Controlling queue delay, 2012, for queues that
// are long for good.
func TestQueueCollapse(t *testing.T) {
	goodput := func(steps, service string) (ok, wasted float64, late int) {
		r, err := sim.Run(parse(t, overload(steps, service)), sim.Options{Parts: 100})
		require.NoError(t, err)
		for i, n := range r.Timeline.Clients[0].OK {
			if n > 0 {
				late = i
			}
		}
		return r.Clients[0].Goodput, float64(r.Services[0].Wasted) / float64(r.Services[0].Served), late
	}
	// Calls that arrive in the first 1.98 s end until 2.98 s: 297 of them.
	ok, wasted, late := goodput("{timeout: 1s}", "")
	assert.InDelta(t, 2.97, ok, 0.02)
	assert.Greater(t, wasted, 0.95)
	assert.Equal(t, 2, late)
	for _, cured := range [][2]string{
		{"{timeout: 1s}", ", queue: 50"},
		{"{timeout: 1s}, {bulkhead: {concurrent: 50}}", ""},
		{"{timeout: 1s}, {limit: {rate: 100/s, burst: 10}}", ""},
		{"{timeout: 1s}, {adaptive: {over: 500ms}}", ""},
	} {
		ok, wasted, late := goodput(cured[0], cured[1])
		assert.Greater(t, ok, 95.0, "%v", cured)
		assert.Less(t, wasted, 0.01, "%v", cured)
		assert.Equal(t, 99, late, "%v", cured)
	}
}

// A service that answers mu calls a second, and calls that are tried n times, have a
// second stable state when lambda x n > mu: all attempts time out, and each of them
// makes work. Below, the first attempts and the retries of an outage are worked off.
// A budget of b bounds the load by lambda x (1 + b).
//
// Source: Bronson, Aghayev, Charapko and Zhu, Metastable failures in distributed
// systems, 2021, section 2.1.
func TestMetastableRetries(t *testing.T) {
	for _, c := range []struct {
		attempts int
		budget   string
		want     sim.Verdict
	}{
		{1, "none", sim.Recovered},
		{2, "none", sim.Recovered},  // 80/s of 100/s
		{3, "none", sim.Metastable}, // 120/s
		{4, "none", sim.Metastable},
		{4, "{ratio: 20%, minimum: 0/s}", sim.Recovered}, // 48/s
	} {
		s := parse(t, fmt.Sprintf(`version: 1
			duration: 10m
			policies: {p: {steps: [{retry: {attempts: %d, budget: %s, backoff: {constant: 100ms}}}, {timeout: 500ms}]}}
			clients: [{name: web, to: api, policy: p, arrivals: {poisson: 40/s}}]
			services: [{name: api, time: 10ms, faults: [{at: 2m, for: 10s, servers: 0}]}]`, c.attempts, c.budget))
		for seed := range uint64(5) {
			r, err := sim.Run(s, sim.Options{Seed: seed + 1, Seeded: true})
			require.NoError(t, err)
			assert.Equal(t, c.want, r.Verdict, "seed %d: %d attempts, budget %s", seed+1, c.attempts, c.budget)
		}
	}
}
