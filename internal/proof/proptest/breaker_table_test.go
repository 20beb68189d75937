package proptest

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

func mode(s subject) breaker.Mode { return s.Look().breaker.Mode }

// moved changes the mode of a breaker in the test.
func moved(s subject, to breaker.Mode, now clock.Mark) (reducer.Answer, reducer.Out) {
	return s.Step(reducer.Action{Kind: reducer.Transition, Cost: uint32(to)}, now)
}

// breakerLines are the invariants of circuit breakers.
var breakerLines = []property{
	{"B1", "only legal changes of state, each a new generation", B1, breakers,
		calls.with("closes without any probe", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Tick && mode(s) == breaker.Open {
				return moved(s, breaker.Closed, now)
			}
			return s.Step(a, now)
		}))},
	{"B2", "open refuses until its deadline and admits at it", B2, breakers,
		timed.with("admits a nanosecond early", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if mode(s) == breaker.Open && a.Kind == reducer.Acquire {
				now++
			}
			return s.Step(a, now)
		}))},
	{"B3", "half-open: at most as many probes as configured", B3, breakers,
		calls.made("sends one more probe than configured", func(c *config) { c.breaker.Probes++ })},
	{"B4", "probes that never settle do not block it for ever", B4, breakers,
		consecutive.with("ignores time in half-open", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if mode(s) == breaker.HalfOpen {
				now = s.Look().last
			}
			return s.Step(a, now)
		}))},
	{"B5", "below the minimum it never opens, at the exact threshold it does", B5, breakers,
		calls.made("uses a minimum that is one less", func(c *config) { c.breaker.Minimum = max(1, c.breaker.Minimum-1) })},
	{"B6", "results of an older generation do not count", B6, breakers,
		calls.with("counts results of any generation", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Record && mode(s) == breaker.Closed {
				a.Generation = uint64(s.Look().breaker.Generation)
			}
			return s.Step(a, now)
		}))},
	{"B7", "ignored outcomes free the place and are not counted", B7, breakers,
		timed.with("counts an ignored outcome as a success", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Outcome == reducer.Ignore {
				a.Outcome = reducer.OK
			}
			return s.Step(a, now)
		}))},
	{"B9", "refusals are not failures", B9, breakers,
		calls.with("extends its open time at a refusal", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if answer.Reason == reducer.ReasonOpen {
				moved(s, breaker.Open, now)
			}
			return answer, out
		}))},
	{"B10", "the open time grows by its backoff, up to the maximum", B10, breakers,
		consecutive.made("always opens for the shortest time", func(c *config) { c.breaker.Open.Max = c.breaker.Open.Base })},
	{"B10", "openings that no outcome caused do not make it grow", B10, breakers,
		consecutive.with("takes a half-open stay without a probe for a failed one", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if c := s.Look().breaker; c.Mode == breaker.HalfOpen && !c.Probed && c.HalfOpenUntil <= now && c.HalfOpenUntil > c.Last {
				probe, _ := s.Step(reducer.Action{Kind: reducer.Acquire, Cost: 1}, c.HalfOpenUntil-1)
				s.Step(reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: probe.Permit}, c.HalfOpenUntil-1)
			}
			return s.Step(a, now)
		}))},
	{"B12", "of the calls in a ramp the floor of the sum of their shares pass", B12, []machine{eased},
		eased.with("counts no call that it refuses", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Acquire && mode(s) == breaker.Closed {
				if answer, out := s.Clone().Step(a, now); answer.Verdict == reducer.Reject {
					return answer, out
				}
			}
			return s.Step(a, now)
		}))},
	{"B13", "a new breaker and one that is reset are in the initial mode", B13, []machine{eased},
		eased.made("always starts closed", func(c *config) { c.breaker.Initial = breaker.Closed })},
	{"B14", "an answer opens it for the time that it says, at most for the bound", B14, []machine{eased},
		eased.made("has twice the bound", func(c *config) { c.breaker.ObeyRetryAfter *= 2 })},
	{"B15", "as many slow outcomes in a row as configured open it", B15, []machine{eased},
		eased.made("needs one more slow outcome", func(c *config) {
			if c.breaker.SlowConsecutive > 0 {
				c.breaker.SlowConsecutive++
			}
		})},
	{"B14", "half-open, an answer with a retry-after never closes it", B14Probe, []machine{eased},
		eased.with("closes when a probe with a retry-after is the last one", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Record && mode(s) == breaker.HalfOpen {
				a.Value = 0
			}
			return s.Step(a, now)
		}))},
	{"B15", "slow outcomes in a row end with the setting that counts them", B15Configured, []machine{eased},
		eased.configured("keeps its slow outcomes in a row in every configuration", func(next cell.Maker, old cell.Cell, now clock.Mark) cell.Cell {
			row := breaker.CoreOf(old).SlowRow
			adopted := cell.Adopt(next, old, now, nil)
			breaker.CoreOf(adopted).SlowRow = row
			return adopted
		})},
	{"B16", "where successes close it, an outcome that failed and was slow counts once", B16, []machine{consecutive},
		consecutive.with("counts a probe twice that failed and was slow", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			answer, out := s.Step(a, now)
			if a.Kind == reducer.Record && a.Outcome == reducer.Fail && now.Sub(a.Mark) > 2 && mode(s) == breaker.HalfOpen {
				s.(*erased[breaker.State]).state.Slow++
			}
			return answer, out
		}))},
	{"B17", "failures in a row are forgotten at the mark that the time to forget says, and not before", B17, []machine{forgetful},
		forgetful.made("forgets a nanosecond late", func(c *config) { c.breaker.Forget++ })},
	{"B11", "with a healthy dependency it closes within a bounded time", B11, breakers,
		calls.with("counts every probe as a failure", with1(func(s subject, a reducer.Action, now clock.Mark) (reducer.Answer, reducer.Out) {
			if a.Kind == reducer.Record && mode(s) == breaker.HalfOpen {
				a.Outcome = reducer.Fail
			}
			return s.Step(a, now)
		}))},
}
