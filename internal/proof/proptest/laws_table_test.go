package proptest

import (
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// lawLines are the invariants of every reducer. Those about calls are with the
// pipeline.
var lawLines = []property{
	{"G1", "the same history gives the same bytes and effects", G1, cells,
		bucket.withStep("evaluates every fifth step a nanosecond later", everyFifth())},
	{"G2", "Reduce leaves its input, and every older state, as it is", G2, cells,
		places.with("steps in place where it should reduce", mutant{reduce: func(s subject, a reducer.Action, now clock.Mark) (subject, reducer.Effects) {
			answer, out := s.Step(a, now)
			return s, reducer.Effects{Answer: answer, Others: out}
		}})},
	{"Twin", "Reduce(s, a, t) = Step(Clone(s), a, t), and a clone between two steps changes nothing", ahead(Twin), cells,
		fixed.with("reduces a nanosecond late", mutant{reduce: func(s subject, a reducer.Action, now clock.Mark) (subject, reducer.Effects) {
			return s.Reduce(a, now+1)
		}})},
	{"G3", "a mark before the last one counts as the last one", ahead(G3), join(algorithms, queued, breakers, []machine{places, shared, spending}),
		queuedBucket.with("accepts a mark before its last one", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if last := s.Look().last; now < last {
				answer, out := s.Shift(now.Sub(last)).Step(a, now)
				s.Step(a, now)
				return answer, out
			}
			return s.Step(a, now)
		}})},
	{"G3", "an algorithm without a last mark is never looser at an old mark", G3Word, algorithms,
		bucket.with("takes an earlier mark for the present", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			return s.Step(a, max(now, -now))
		}})},
	{"G4", "after Tick(t) and serving at t, NextWake > t or none", ahead(G4), join(queued, breakers, []machine{places, shared}),
		places.with("does not end expired leases", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Tick {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}})},
	{"G5", "a spurious tick is the identity", ahead(G5), cells,
		bucket.with("drains at every tick", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Tick {
				a.Kind = reducer.Drain
			}
			return s.Step(a, now)
		}})},
	{"G6", "nothing happens by a tick strictly before NextWake", G6, cells,
		queuedFixed.with("ends waits and serves the queue a nanosecond early", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Tick || a.Kind == reducer.Serve {
				now++
			}
			return s.Step(a, now)
		}})},
	{"G7", "Tick(t1); Tick(t2) = Tick(t2)", G7, join(cells, []machine{jitteredOpen}),
		calls.with("restarts its open time at a tick", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if c := s.Look().breaker; a.Kind == reducer.Tick && c.Mode == 1 && c.OpenUntil > now {
				return s.Step(reducer.Action{Kind: reducer.Transition, Cost: 1}, now)
			}
			return s.Step(a, now)
		}})},
	{"G8", "if all marks are later by the same time, the decisions are the same, later by that time", G8, undated,
		queuedSliding.with("aligns its windows with the zero of the clock", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Acquire && now%16 == 0 {
				s.Step(reducer.Action{Kind: reducer.Reset}, now)
			}
			return s.Step(a, now)
		}})},
	{"G9", "a state that is restored between two steps decides the same afterwards", ahead(G9), cells,
		places.with("loses its waiters when it is restored", mutant{restore: func(s subject) (subject, error) {
			restored, err := s.Restored()
			if err == nil {
				for _, w := range restored.Look().waiters {
					restored.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.Ticket}}, 0)
				}
			}
			return restored, err
		}})},
	{"G9", "a policy with active calls that is restored after every event decides the same afterwards", G9Calls,
		[]machine{{name: "pipeline driven by the test", hands: newByHand}},
		machine{name: "pipeline driven by the test that loses waiters and holders", hands: func(p pipeline.Policy) *byHand {
			b := newByHand(p)
			b.restore = func(c cell.Cell, src []byte) error { return c.Revive(src, 0) }
			return b
		}}},
	{"G15", "the figures of a state are a fold of its answers and effects", G15, join(queued, breakers, []machine{places, shared}),
		places.with("emits no effect for an expired lease", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			return answer, slices.DeleteFunc(out, func(e reducer.Effect) bool { return e.Kind == reducer.Lapse })
		}))},
	{"G10", "the size of a state is a function of its configuration", G10, cells,
		queuedBucket.made("has a longer queue than configured", func(c *config) { c.limit.Queue += 50; c.limit.Wait *= 100 })},
	{"G17", "a peek changes nothing, at any mark, and gives the answer of an acquire at that mark", ahead(G17), join(cells, []machine{jitteredOpen}),
		queuedBucket.with("advances time at a peek", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Peek {
				e := s.(*erased[limiter.State])
				e.state.Last = max(e.state.Last, now)
			}
			return s.Step(a, now)
		}))},
	{"G18", "a refusal, a stale action and a spurious tick leave the state as a tick would, and the answer says whether it changed", ahead(G18), join(plain, []machine{jitteredOpen}),
		queuedFixed.with("stores the mark of a refusal", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Verdict == reducer.Reject {
				e := s.(*erased[limiter.State])
				e.state.Last = max(e.state.Last, now)
			}
			return answer, out
		}))},
	{"G11", "extreme values never cause a panic, an overflow or a mark before the last one", G11, cells,
		bucket.with("adds an hour without a check for overflow", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Verdict == reducer.Reject && answer.Reason == reducer.ReasonRate {
				answer.Mark += 3_600_000_000_000
			}
			return answer, out
		}})},
	{"G17", "a peek at a bulkhead accounts for expired leases and waits, and ends none", ahead(G17), []machine{places, shared},
		places.with("ends leases at a peek", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Peek {
				s.Step(tick, now)
			}
			return s.Step(a, now)
		}})},
	{"G18", "the same holds when due work before them has not been done", G18Late, exact,
		calls.with("stores the mark of a refusal as its last mark", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if state := &s.(*erased[breaker.State]).state; answer.Verdict == reducer.Reject {
				state.Last = max(state.Last, now)
			}
			return answer, out
		}})},
	{"G18", "the answer says that the state changed exactly when its bytes did", G18Late, []machine{timed},
		timed.with("reports a change for every admission", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			answer.Changed = answer.Changed || answer.Verdict == reducer.Admit
			return answer, out
		}})},
	{"G19", "a step has at most as many effects as the configuration allows, however much time passed", G19, join(breakers, []machine{jitteredOpen, places, shared}),
		jitteredOpen.with("emits an effect for every cycle that passed", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			var all reducer.Out
			for range 100 {
				wake, ok := s.NextWake()
				if !ok || wake > now {
					break
				}
				_, out := s.Step(tick, wake)
				all = append(all, out...)
			}
			answer, out := s.Step(a, now)
			return answer, append(all, out...)
		}})},
	{"G20", "the encoding shrinks when permits and waits end", G20, []machine{places, shared},
		places.with("never frees every fourth place", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Release && a.Generation%4 == 1 {
				return reducer.Answer{Verdict: reducer.Done}, nil
			}
			return s.Step(a, now)
		}})},
	{"Sound", "after every step Check passes", ahead(Sound), cells,
		places.with("counts a place twice", mutant{step: func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Verdict == reducer.Admit && now%8 == 7 {
				s.(*erased[bulkhead.State]).state.Held++
			}
			return answer, out
		}})},
}

// everyFifth is a defect with a memory outside the state.
func everyFifth() func(c config) stepper {
	n := 0
	return func(config) stepper {
		return func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if n++; n%5 == 0 {
				now++
			}
			return s.Step(a, now)
		}
	}
}
