package theory_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
)

// guarded is a client with Poisson arrivals that calls a service of 10,000 servers
// through a policy with these steps.
func guarded(rate float64, steps, service string) string {
	return hour(fmt.Sprintf(`policies: {p: {steps: [%s]}}
		clients: [{name: web, to: api, policy: p, arrivals: {poisson: %.0f/1000s}}]
		services: [{name: api, servers: 10000, %s}]`, steps, rate*1000, service))
}

// busier makes the arrivals 5 % more frequent.
func busier(s *sim.Scenario) {
	p := &s.Clients[0].Arrivals.Phases[0]
	p.Period = p.Period * 20 / 21
}

func TestLimits(t *testing.T) {
	// A bucket of one permit is full again a time T after an admission: renewals of
	// T + 1/rate each, by the memoryless arrivals.
	const rate, interval = 15.0, 0.1
	once := 1 / (1 + rate*interval)
	// A virtual queue in which each admission is a request of the length T: GCRA with
	// the burst b admits what finds a place in M/D/1/b. Source: Turner, New directions
	// in communications, 1986 (the leaky bucket as a counter of a virtual queue).
	bucket := 1 - deterministicLoss(rate*interval, 5)
	check(t, []theorem{
		{name: "token bucket of one", scenario: guarded(rate, "{limit: {rate: 10/1s, burst: 1}}", "time: 1ms"), quantities: []quantity{admitted(once), refused(1 - once)}, mutant: busier},
		{name: "token bucket of five", scenario: guarded(rate, "{limit: {rate: 10/1s, burst: 5}}", "time: 1ms"), quantities: []quantity{admitted(bucket)}, mutant: busier},
		{name: "leaky bucket", scenario: guarded(rate, "{limit: {rate: 10/1s, algorithm: leaky-bucket}}", "time: 1ms"), quantities: []quantity{admitted(once)}, mutant: busier},
		{name: "sliding log of one", scenario: guarded(rate, "{limit: {rate: 1/100ms, algorithm: sliding-log}}", "time: 1ms"), quantities: []quantity{admitted(once)}, mutant: busier},
		{
			// A window admits its first call and at most nine of those behind it; the
			// next one opens with the first call after its end.
			name:       "fixed window",
			scenario:   guarded(rate, "{limit: {rate: 10/1s, algorithm: fixed-window}}", "time: 1ms"),
			quantities: []quantity{admitted((1 + poissonAtMost(9, rate)) / (1 + rate))},
			mutant:     busier,
		},
		{
			// Calls that wait for a leaky bucket are M/D/1.
			name:       "leaky bucket with a queue",
			scenario:   guarded(14, "{limit: {rate: 20/1s, algorithm: leaky-bucket, wait: 1h, queue: 10000}}", "time: 1ms"),
			quantities: []quantity{latency(pollaczekKhinchine(14, 0.05, 0.0025) + 0.001)},
			mutant:     busier,
		},
		{
			name:       "bulkhead without a queue",
			scenario:   guarded(20, "{bulkhead: 5}", "time: {exponential: 200ms}"),
			quantities: []quantity{refused(erlangB(5, 4)), inSystem(4 * (1 - erlangB(5, 4)))},
		},
		{
			name:       "bulkhead with a queue",
			scenario:   guarded(20, "{bulkhead: {concurrent: 2, queue: 10000, wait: 1h}}", "time: {exponential: 60ms}"),
			quantities: []quantity{latency(erlangC(2, 1.2)*0.06/0.8 + 0.06), inSystem(1.2)},
		},
	})
}

func TestRetriesTimeoutsAndHedges(t *testing.T) {
	const ms = 1e-3
	over := math.Exp(-2)     // of an exponential time above twice its mean
	hedged := math.Exp(-1.5) // above three halves
	check(t, []theorem{
		{
			// The attempts of a call are a geometric sum that is cut at four.
			name:     "retries",
			scenario: guarded(5, "{retry: {attempts: 4, backoff: {constant: 1ms}, jitter: none}}", "time: 1ms, fail: 50%"),
			quantities: []quantity{
				amplification(2 * (1 - math.Pow(0.5, 4))), failed(math.Pow(0.5, 4)),
			},
			mutant: func(s *sim.Scenario) { s.Services[0].Fail = reducer.Millionths(520_000) },
		},
		{
			// A delay of full jitter is uniform: its mean is half the nominal one.
			name:     "full jitter",
			scenario: guarded(5, "{retry: {attempts: 1000, backoff: {constant: 100ms}, jitter: full}}", "time: 1ms, fail: 50%"),
			quantities: []quantity{
				amplification(2), latency(1*ms + 51*ms),
			},
			mutant: func(s *sim.Scenario) { s.Services[0].Fail = reducer.Millionths(520_000) },
		},
		{
			name:     "timeouts",
			scenario: guarded(10, "{timeout: 60ms}", "time: {exponential: 30ms}"),
			quantities: []quantity{
				failed(over), latency(30*ms - 60*ms*over/(1-over)),
				{"wasted", over, func(r *sim.Result) float64 {
					return float64(r.Services[0].Wasted) / float64(r.Services[0].Served)
				}},
			},
		},
		{
			// Work that a caller has given up is stopped.
			name:       "timeouts of a service that abandons",
			scenario:   guarded(10, "{timeout: 60ms}", "abandon: true, time: {exponential: 30ms}"),
			quantities: []quantity{failed(over), inSystem(10 * 30 * ms * (1 - over))},
		},
		{
			// A call is hedged when its first attempt takes longer than the delay d; what
			// is left is the lesser of two exponential times.
			//
			// Source: Dean and Barroso, The tail at scale, 2013.
			name:     "hedges",
			scenario: guarded(10, "{hedge: {after: 45ms}}", "time: {exponential: 30ms}"),
			quantities: []quantity{
				amplification(1 + hedged), latency(30*ms*(1-hedged) + 15*ms*hedged),
				percentile99(45*ms + 15*ms*(math.Log(100)-1.5)),
			},
		},
		{
			name:       "parallel hedges",
			scenario:   guarded(10, "{hedge: {parallel: true, max: 2}}", "time: {exponential: 30ms}"),
			quantities: []quantity{latency(10 * ms), amplification(3 + 1e-12), percentile90(10 * ms * math.Log(10))},
		},
	})
}
