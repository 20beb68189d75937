package engine

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
)

// Result is what a run has shown. Times are durations; shares are from 0 to 1.
type Result struct {
	Seed uint64
	// Duration of the scenario, and Counted of it: without the warmup.
	Duration, Counted time.Duration
	Verdict           Verdict
	// Clients and Services in the order of the scenario.
	Clients  []ClientResult
	Services []ServiceResult
	Timeline *Timeline
	// Samples of events and decisions in their order, where Options.Sample asks for
	// them.
	Samples []Sample
}

// ClientResult has the calls of a client that arrived in the counted time.
type ClientResult struct {
	Name string
	// Verdict of these calls. The verdict of the result is the worst one.
	Verdict Verdict
	// Calls that arrived: each is OK, Failed, Refused or Unfinished.
	Calls, OK, Failed, Refused, Unfinished uint64
	// Attempts of these calls, whenever they began, and Repeats: the calls that the
	// client made again.
	Attempts, Repeats uint64
	// Refusals by step and reason; their sum is Refused.
	Refusals []Refusal
	// Latency of OK calls, from the arrival to the end.
	Latency Latency
	// Goodput is OK calls a second, Amplification attempts a call, repeated calls not
	// counted as calls.
	Goodput, Amplification float64
	// Worst is the OK call that took the longest.
	Worst Worst
	// Fairness between keys is Jain's index of the OK shares of keys that called: 1
	// where all have the same, 1/n where one of n has all. 1 without keys.
	Fairness float64
	Breakers []BreakerResult
	// Recovery is the time from the end of the last fault of a service that the client
	// reaches to the last part with a goodput below nine tenths of that before any
	// fault; negative where it did not come back, or without faults.
	Recovery time.Duration
}

// Refusal counts the calls that a step refused for a reason.
type Refusal struct {
	Step, Reason string
	Calls        uint64
}

// Latency of calls. Percentiles are nearest rank within 1 %. Without calls all are 0.
type Latency struct {
	// Count of the calls.
	Count               uint64
	Mean                float64 // nanoseconds
	P50, P90, P99, P999 time.Duration
	Max                 time.Duration
}

// Worst is a call.
type Worst struct {
	// Number of the call in the order of its client, from 1; 0 for none.
	Number   uint64
	At       clock.Mark
	Latency  time.Duration
	Attempts uint32
}

// BreakerResult describes a breaker of a client's policy over the whole scenario. Of a
// breaker with keys, all are taken together.
type BreakerResult struct {
	Step string
	// Opened is how many times it opened.
	Opened uint64
	// First is the mark of the first time, negative for none; Delay is its distance
	// from the begin of the first fault before it, negative without one.
	First, Delay time.Duration
	// Open is how long it was open or half-open; 0 with keys.
	Open time.Duration
}

// ServiceResult has what a service did in the counted time.
type ServiceResult struct {
	Name string
	// Arrived requests, and those Served, Dropped because the queue was full, Refused
	// by the policy of the service, and Wasted: served when the caller had given up.
	Arrived, Served, Dropped, Refused, Wasted uint64
	// Utilization is the average share of busy servers, InSystem the average number of
	// requests that wait or are served.
	Utilization, InSystem float64
	// Wait is the time from the arrival of a served request to the start of service.
	Wait Latency
}

// Client returns the result of a client, nil where there is none of the name.
func (r *Result) Client(name string) *ClientResult {
	for i := range r.Clients {
		if r.Clients[i].Name == name {
			return &r.Clients[i]
		}
	}
	return nil
}

// Service returns the result of a service, nil where there is none of the name.
func (r *Result) Service(name string) *ServiceResult {
	for i := range r.Services {
		if r.Services[i].Name == name {
			return &r.Services[i]
		}
	}
	return nil
}

// latency sums a histogram up.
func (h *histogram) latency() Latency {
	return Latency{
		Count: h.count, Mean: h.mean(), P50: h.percentile(500), P90: h.percentile(900), P99: h.percentile(990), P999: h.percentile(999), Max: h.max,
	}
}

// result sums a run up.
func (s *simulation) result() *Result {
	r := &Result{
		Seed: s.seed, Duration: s.scenario.Duration, Counted: s.end.Sub(s.begin), Timeline: s.timeline, Samples: s.samples,
	}
	seconds := r.Counted.Seconds()
	for _, c := range s.clients {
		r.Clients = append(r.Clients, c.result(seconds))
	}
	for i, service := range s.services {
		st := &service.stats
		s.timeline.Services[i].Bands = service.bands
		r.Services = append(r.Services, ServiceResult{
			Name: service.config.Name, Arrived: st.arrived, Served: st.served, Dropped: st.dropped, Refused: st.refused,
			Wasted: st.wasted, Utilization: st.used / float64(r.Counted), InSystem: st.inSystem / float64(r.Counted),
			Wait: st.times.latency(),
		})
	}
	s.judge(r)
	return r
}

func (c *client) result(seconds float64) ClientResult {
	st := &c.stats
	r := ClientResult{
		Name: c.config.Name, Calls: st.calls, OK: st.ok, Failed: st.failed, Refused: st.refused,
		Unfinished: st.calls - st.ok - st.failed - st.refused, Attempts: st.attempts, Repeats: st.repeats,
		Latency: st.latency.latency(), Goodput: float64(st.ok) / seconds, Worst: st.worst,
		Fairness: st.fairness(), Recovery: -1,
	}
	if first := st.calls - st.repeats; first > 0 {
		r.Amplification = float64(st.attempts) / float64(first)
	}
	// In the order of the timeline: of the first time that each one refused.
	for i := range c.line.Refusals {
		line := &c.line.Refusals[i]
		for step := range st.refusals {
			for reason, calls := range st.refusals[step] {
				if st.lines[step][reason] == i+1 && calls > 0 {
					r.Refusals = append(r.Refusals, Refusal{Step: line.Step, Reason: line.Reason, Calls: calls})
				}
			}
		}
	}
	r.Breakers = c.breakers()
	return r
}

// fairness is Jain's index of the shares of ok calls.
//
// Source: Jain, Chiu and Hawe, A quantitative measure of fairness, 1984.
func (st *clientStats) fairness() float64 {
	sum, squares, n := 0.0, 0.0, 0.0
	for _, k := range st.keys {
		if k.calls == 0 {
			continue
		}
		share := float64(k.ok) / float64(k.calls)
		sum += share
		squares += float64(share * share)
		n++
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / float64(n*squares)
}

// breakers sums the changes of breakers up.
func (c *client) breakers() (list []BreakerResult) {
	for _, step := range c.breakerSteps() {
		b := BreakerResult{Step: step.name, First: -1, Delay: -1}
		from := clock.Mark(-1)
		for _, change := range c.line.Changes {
			if change.Step != b.Step {
				continue
			}
			if change.Mode == breaker.Open {
				b.Opened++
				if b.First < 0 {
					b.First = time.Duration(change.At)
					b.Delay = c.sinceFault(change.At)
				}
			}
			closed := change.Mode == breaker.Closed
			switch {
			case !closed && from < 0:
				from = change.At
			case closed && from >= 0:
				b.Open += change.At.Sub(from)
				from = -1
			}
		}
		if from >= 0 {
			b.Open += c.sim.end.Sub(from)
		}
		if step.keyed {
			b.Open = 0
		}
		list = append(list, b)
	}
	return list
}

// breakerStep is a breaker of a client.
type breakerStep struct {
	name  string
	keyed bool
}

// breakerSteps returns the breakers of the policy of a client, and the breakers of code
// outside of the run that changed.
func (c *client) breakerSteps() (steps []breakerStep) {
	if c.config.Policy != nil {
		plan := compile(c.config.Policy)
		for i := range plan.Len() {
			if mechanisms.Row(plan.Kind(i)).Traits.Has(mechanism.Modes) {
				steps = append(steps, breakerStep{name: plan.StepName(i), keyed: len(plan.Per(i)) > 0})
			}
		}
	}
	for _, change := range c.line.Changes {
		if !slices.ContainsFunc(steps, func(one breakerStep) bool { return one.name == change.Step }) {
			steps = append(steps, breakerStep{name: change.Step})
		}
	}
	return steps
}

// sinceFault returns the time since the begin of the first fault of the client's
// service, negative where there was none.
func (c *client) sinceFault(at clock.Mark) time.Duration {
	for _, band := range c.sim.services[c.config.To].bands {
		if band.From <= at {
			return at.Sub(band.From)
		}
	}
	return -1
}
