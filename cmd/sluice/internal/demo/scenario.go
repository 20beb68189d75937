package demo

import (
	"math/rand/v2"
	"time"
)

// Phase is what the service goes through.
type Phase uint8

// The phases, in their order. Failing and Slow together are the brown-out.
const (
	Healthy Phase = iota
	Failing
	Slow
	Healed
)

var phaseNames = [...]string{"healthy", "failing", "slow", "healed"}

// String names the phase.
func (p Phase) String() string { return phaseNames[p] }

// Scenario is the workload, the service and what happens to it. All sides get
// the same.
type Scenario struct {
	Seed uint64
	// Duration is for how long calls come, Drain how long the last of them may
	// take after that.
	Duration, Drain time.Duration
	// Rate of calls a second, even but for a jitter.
	Rate float64

	// Workers serve one request each at a time; Service is the mean time that a
	// request takes, Fault the share of requests that fail by chance. Queue is
	// how many requests may wait for a worker.
	Workers int
	Service time.Duration
	Fault   float64
	Queue   int

	// FailAt is when the brown-out begins, with every request failing; SlowAt
	// when requests are answered again, Factor times as slowly; HealAt its end.
	FailAt, SlowAt, HealAt time.Duration
	Factor                 int

	// Attempts of a call without a policy, and how long the caller waits for
	// each. What people write by hand has the same, and bounds the whole call
	// by Deadline, doubles the backoff from Backoff on, and saves Budget of a
	// retry with each call, up to Saved retries.
	Attempts int
	Patience time.Duration
	Deadline time.Duration
	Backoff  time.Duration
	Budget   float64
	Saved    float64
}

// Total returns how long the run takes at most.
func (s Scenario) Total() time.Duration { return s.Duration + s.Drain }

// The limits of a scenario's duration. A shorter one shows nothing, a longer one
// nothing more. DefaultDrain is as long as the longest call of the demonstration.
const (
	MinDuration     = time.Second
	MaxDuration     = 2 * time.Minute
	DefaultDuration = 15 * time.Second
	DefaultDrain    = 2 * time.Second
)

// NewScenario returns the demonstration's scenario. The load is light, and the
// callers are patient, so that two busy cores do not change what is seen: 120
// calls a second are 360 attempts at worst, on each side.
func NewScenario(seed uint64, duration time.Duration) Scenario {
	return Scenario{
		Seed: seed, Duration: duration, Drain: DefaultDrain, Rate: 120,
		Workers: 8, Service: 40 * time.Millisecond, Fault: 0.01, Queue: 256,
		FailAt: duration * 4 / 15, SlowAt: duration * 5 / 15, HealAt: duration * 9 / 15, Factor: 4,
		Attempts: 3, Patience: 500 * time.Millisecond,
		Deadline: 2 * time.Second, Backoff: 50 * time.Millisecond, Budget: 0.1, Saved: 10,
	}
}

// Phase returns the phase at a time since the start.
func (s Scenario) Phase(at time.Duration) Phase {
	switch {
	case at < s.FailAt:
		return Healthy
	case at < s.SlowAt:
		return Failing
	case at < s.HealAt:
		return Slow
	}
	return Healed
}

// Capacity returns how many requests a second the service can answer well in a
// phase, but for the chance faults.
func (s Scenario) Capacity(p Phase) float64 {
	full := float64(s.Workers) / s.Service.Seconds()
	switch p {
	case Failing:
		return 0
	case Slow:
		return full / float64(s.Factor)
	}
	return full
}

// could returns how many calls a second can be answered well in a phase: as many
// as come, if the service can do them.
func (s Scenario) could(p Phase) float64 { return min(s.Rate, s.Capacity(p)) }

// Arrivals returns when the calls come, in order.
func (s Scenario) Arrivals() []time.Duration {
	random := rand.New(rand.NewPCG(s.Seed, 0))
	mean := float64(time.Second) / s.Rate
	var all []time.Duration
	for at := time.Duration(mean / 2); at < s.Duration; at += time.Duration(mean * (0.5 + random.Float64())) {
		all = append(all, at)
	}
	return all
}

// Work returns how long a worker needs for an attempt of a call that it takes up
// at a time, and whether it fails. The same attempt is the same work on all
// sides.
func (s Scenario) Work(call, attempt int, at time.Duration) (takes time.Duration, fails bool) {
	random := rand.New(rand.NewPCG(s.Seed, uint64(call)<<16|uint64(attempt)))
	takes = time.Duration(float64(s.Service) * (0.5 + random.Float64()))
	fails = random.Float64() < s.Fault
	switch s.Phase(at) {
	case Failing:
		return takes / 10, true
	case Slow:
		takes *= time.Duration(s.Factor)
	}
	return takes, fails
}
