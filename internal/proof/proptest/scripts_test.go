package proptest

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// script is one history of a machine, from a bug report.
type script struct {
	name      string
	statement string
	machine   machine
	config    config
	beats     []beat
	mutant    machine
}

// beat is one step of a script.
type beat struct {
	at   clock.Mark
	kind reducer.Kind
	cost uint32
	of   int // the beat whose permit is ended, counted from 1
	want string
}

// play plays the script on a machine; due ends come before every beat.
func (s script) play(m machine) error {
	r := newRig(m.make(s.config), m.kind)
	permits := make([]reducer.Permit, len(s.beats))
	for i, b := range s.beats {
		before := len(r.log)
		a := reducer.Action{Kind: b.kind, Outcome: reducer.Fail, Cost: b.cost, Permit: reducer.Permit{ID: uint64(i + 1)}}
		if b.of > 0 {
			a.Permit = permits[b.of-1]
		}
		if b.at < r.now {
			r.now = b.at // the clock goes back
		}
		r.advance(b.at)
		answer := r.step(a)
		r.serve()
		permits[i] = answer.Permit
		got := strings.Join(append([]string{limiterAnswer(answer)}, r.effectsSince(before)...), ", ")
		if got != b.want {
			return fmt.Errorf("%s: beat %d, %s %s: %s, not %s", s.name, i+1, b.at, b.kind, got, b.want)
		}
	}
	return r.err
}

// scripts are histories from defects of other projects.
var scripts = []script{
	{"G3", "a clock that goes back by an hour adds no permits, and permits refill when they would have",
		bucket, config{limit: limiter.Config{Count: 1, Period: time.Hour, Burst: 1}}, []beat{
			{at: hour, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 0, kind: reducer.Acquire, cost: 1, want: fmt.Sprintf("reject rate retry %d", 2*hour)},
			{at: 2*hour - 1, kind: reducer.Acquire, cost: 1, want: fmt.Sprintf("reject rate retry %d", 2*hour)},
			{at: 2 * hour, kind: reducer.Acquire, cost: 1, want: "admit"},
		},
		bucket.with("starts with a new state when its clock goes back", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if now < bucketOf(s).TAT-hour {
				s.Step(reducer.Action{Kind: reducer.Reset}, now)
			}
			return s.Step(a, now)
		}))},
	{"L8", "the worst case of a fixed window: the count at its end and again at the start of the next",
		fixed, config{limit: limiter.Config{Algorithm: limiter.FixedWindow, Count: 10, Period: 1000}}, []beat{
			{at: 0, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 999, kind: reducer.Acquire, cost: 9, want: "admit"},
			{at: 999, kind: reducer.Acquire, cost: 1, want: "reject rate retry 1000"},
			{at: 1000, kind: reducer.Acquire, cost: 10, want: "admit"},
			{at: 1000, kind: reducer.Acquire, cost: 1, want: "reject rate retry 2000"},
		},
		fixed.made("rounds its window up", func(c *config) { c.limit.Period++ })},
	{"L13", "60 a second, one reserved and cancelled: all 60 are free, to the nanosecond",
		bucket, config{limit: limiter.Config{Count: 60, Period: time.Second, Burst: 60}}, []beat{
			{at: 5, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 5, kind: reducer.Cancel, cost: 1, of: 1, want: "done"},
			{at: 5, kind: reducer.Acquire, cost: 60, want: "admit"},
			{at: 5, kind: reducer.Acquire, cost: 1, want: "reject rate retry 16666672"},
		},
		bucket.with("rounds a refund", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Cancel {
				nudge(s, 1)
			}
			return answer, out
		}))},
	{"L13", "a permit that has refilled since is not refunded a second time",
		bucket, config{limit: limiter.Config{Count: 1, Period: 4, Burst: 1}}, []beat{
			{at: 0, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 4, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 4, kind: reducer.Cancel, cost: 1, of: 1, want: "stale"},
			{at: 5, kind: reducer.Acquire, cost: 1, want: "reject rate retry 8"},
		},
		bucket.with("refunds every cancelled permit", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if tat := bucketOf(s).TAT; a.Kind == reducer.Cancel && tat > now {
				nudge(s, now.Sub(tat))
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}))},
	{"B4", "a probe that never ends blocks no caller after the open time",
		consecutive, config{breaker: breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 30}}}, []beat{
			{at: 0, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 0, kind: reducer.Record, of: 1, want: "done, change 0"},
			{at: 29, kind: reducer.Acquire, cost: 1, want: "reject open retry 30"},
			{at: 30, kind: reducer.Acquire, cost: 1, want: "admit, change 0"},
			{at: 59, kind: reducer.Acquire, cost: 1, want: "reject probes retry 89"},
			{at: 60, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 61, kind: reducer.Record, of: 4, want: "stale"},
		},
		consecutive.with("waits for its probes", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if mode(s) == breaker.HalfOpen && a.Kind != reducer.Record {
				now = s.Look().last
			}
			return s.Step(a, now)
		}))},
	{"K3", "a wait that ends at the mark at which a place becomes free loses neither the place nor the call",
		places, config{bulkhead: bulkhead.Config{Concurrent: 1, Queue: 1, Wait: 10}}, []beat{
			{at: 0, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 0, kind: reducer.Acquire, cost: 1, want: "wait unknown"},
			{at: 10, kind: reducer.Release, of: 1, want: "done, drop 2"},
			{at: 10, kind: reducer.Acquire, cost: 1, want: "admit"},
			{at: 11, kind: reducer.Release, of: 1, want: "stale"},
		},
		places.withStep("grants the place to a waiter that it dropped", func(config) stepper {
			gone := false
			return func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
				if gone && a.Kind == reducer.Release {
					return reducer.Answer{Verdict: reducer.Done}, nil
				}
				answer, out := s.Step(a, now)
				gone = gone || len(out) > 0 && out[0].Kind == reducer.Drop
				return answer, out
			}
		})},
}

const hour = clock.Mark(time.Hour)

// scriptLines are the rows of the scripts.
func scriptLines() (all []row) {
	for _, s := range scripts {
		all = append(all, row{s.name, s.statement, byScript,
			[]trial{{s.machine.name, func() error { return s.play(s.machine) }}},
			trial{s.mutant.name, func() error { return s.play(s.mutant) }}})
	}
	return all
}
