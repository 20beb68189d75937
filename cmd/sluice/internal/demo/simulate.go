package demo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
)

// scenarioText is the scenario of one side for the simulator. What the callers without a
// policy do, and those by hand, is a policy there: it is decided by other code than in
// Run, and is the same. Its verbs are the seed, the duration, the settings of the two,
// the arrivals and the service.
const scenarioText = `
version: 1
seed: %d
duration: %s
policies:
  without:
    steps:
      - retry: {attempts: %d, backoff: none, budget: none}
      - timeout: %s
  by-hand:
    steps:
      - timeout: %s
      - retry: {attempts: %d, backoff: {exponential: %s}, jitter: full, budget: {ratio: %s, minimum: 1/s, window: 10s}}
      - timeout: %s
clients:
  - {name: callers, to: service, policy: %s, arrivals: {steps: [{for: %s, gaps: {uniform: [%s, %s]}}]}}
services:
  - name: service
    servers: %d
    queue: %d
    time: {uniform: [%s, %s]}
    fail: %s
    faults:
      - {at: %s, for: %s, slow: 0.1, fail: 100%%}
      - {at: %s, for: %s, slow: %d}
`

// Document returns the scenario of a side in YAML, for sluice simulate. The scenario of With
// has the policy of the callers by hand in place of the real one.
func (s Scenario) Document(side Side) string {
	percentage := func(x float64) string { return fmt.Sprintf("%g%%", 100*x) }
	gap := time.Duration(float64(time.Second) / s.Rate)
	return fmt.Sprintf(scenarioText, s.Seed, s.Total(),
		s.Attempts, s.Patience,
		s.Deadline, s.Attempts, s.Backoff, percentage(s.Budget), s.Patience,
		[Sides]string{"without", "by-hand", "by-hand"}[side], s.Duration, gap/2, gap+gap/2,
		s.Workers, s.Queue, s.Service/2, s.Service+s.Service/2, percentage(s.Fault),
		s.FailAt, s.SlowAt-s.FailAt, s.SlowAt, s.HealAt-s.SlowAt, s.Factor)
}

// Simulate is Run in virtual time: the same story at once, the same bytes for the same
// seed. It shows the run in so much time, 0 for no pauses.
func Simulate(ctx context.Context, s Scenario, p *policy.Policy, display Display, pace time.Duration) (View, error) {
	whole := View{Scenario: s, Now: s.Duration, Simulated: true}
	for i := range whole.Logs {
		log, err := s.simulate(Side(i), p)
		if err != nil {
			return View{}, err
		}
		whole.Logs[i] = log
	}
	step := display.Every()
	pause := time.Duration(float64(pace) * float64(step) / float64(s.Duration))
	for now := step; now < s.Duration; now += step {
		if err := display.Show(whole.until(now)); err != nil {
			return View{}, err
		}
		if pause > 0 && !sleep(ctx, pause) {
			return View{}, fmt.Errorf("interrupted after %s", round(now))
		}
	}
	return whole, display.Show(whole)
}

// simulate runs one side.
func (s Scenario) simulate(side Side, p *policy.Policy) (Log, error) {
	one, err := sim.Parse("demo.yaml", []byte(s.Document(side)), nil)
	if err != nil {
		return Log{}, err
	}
	if side == With {
		one.Clients[0].Policy = p
	}
	var o observer
	_, err = sim.Run(one, sim.Options{Observe: o.observe})
	return o.log, err
}

// observer makes the log of a run in virtual time.
type observer struct {
	log     Log
	waiting int
}

func (o *observer) observe(e *engine.Event) {
	at := time.Duration(e.At)
	switch e.Kind {
	case engine.EventArrival:
		o.log.Attempts = append(o.log.Attempts, Attempt{At: at, Number: int(e.Attempt)})
		o.waits(at, 1)
	case engine.EventStart, engine.EventDrop:
		o.waits(at, -1)
	case engine.EventAnswer:
		o.log.Served++
		if e.Wasted {
			o.log.Wasted++
		}
	case engine.EventDecision:
		if d := e.Decision; d.Kind == decision.Change && !d.Shadow {
			o.log.Changes = append(o.log.Changes, Change{At: at, Breaker: d.Step + " ", State: breaker.Mode(d.Mode).String()})
		}
	case engine.EventEnd:
		c := Call{At: time.Duration(e.Began), Took: e.At.Sub(e.Began), Result: Failed}
		switch {
		case e.Refused:
			c.Result, c.Why = Refused, e.Step+": "+e.Reason.String()
		case e.Outcome == reducer.OK:
			c.Result = Good
		}
		o.log.Calls = append(o.log.Calls, c)
	}
}

// waits notes how many wait after an arrival or a start. A request that need not wait
// arrives and starts at one mark, where the last gauge counts.
func (o *observer) waits(at time.Duration, more int) {
	o.waiting += more
	if n := len(o.log.Gauges); n > 0 && o.log.Gauges[n-1].At == at {
		o.log.Gauges[n-1].Waiting = o.waiting
		return
	}
	o.log.Gauges = append(o.log.Gauges, Gauge{At: at, Waiting: o.waiting})
}

// until returns the view at an earlier time.
func (v *View) until(now time.Duration) View {
	early := View{Scenario: v.Scenario, Now: now, Simulated: true}
	for i := range v.Logs {
		all, some := &v.Logs[i], &early.Logs[i]
		some.Calls = recordedBy(all.Calls, now, Call.End)
		some.Attempts = recordedBy(all.Attempts, now, func(a Attempt) time.Duration { return a.At })
		some.Gauges = recordedBy(all.Gauges, now, func(g Gauge) time.Duration { return g.At })
		some.Changes = recordedBy(all.Changes, now, func(c Change) time.Duration { return c.At })
	}
	return early
}

// recordedBy returns the entries that were recorded before a time; they are in that order.
func recordedBy[T any](list []T, now time.Duration, at func(T) time.Duration) []T {
	n, _ := slices.BinarySearchFunc(list, now, func(one T, now time.Duration) int { return cmp.Compare(at(one), now) })
	return list[:n]
}
