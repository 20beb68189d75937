package proptest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The invariants of circuit breakers, at every state.

// due is the state before a step, after the due ends: the ends at a mark come before
// its changes.
func due(s scene[breaker.State], t *passage[breaker.State]) breaker.State {
	if t.Before.State.Generation == 0 {
		return t.Before.State
	}
	return tried(s.use.Cell, t.Before.State, reducer.Action{Kind: reducer.Cancel}, t.At).state
}

func atStep(check func(s scene[breaker.State], t *passage[breaker.State]) error) law[breaker.State] {
	return func(s scene[breaker.State]) checked[breaker.State] {
		return checked[breaker.State]{Step: func(t passage[breaker.State]) error { return check(s, &t) }}
	}
}

func inState(check func(s scene[breaker.State], r *room[breaker.State], now clock.Mark) error) law[breaker.State] {
	return func(s scene[breaker.State]) checked[breaker.State] {
		return checked[breaker.State]{State: func(r room[breaker.State], now clock.Mark) error { return check(s, &r, now) }}
	}
}

var ask = reducer.Action{Kind: reducer.Acquire, Cost: 1}

func breakerRules(c breaker.Config) []ruled[breaker.State] {
	delay := must(backoff.New(c.Open))
	type (
		cellOf = reducer.Cell[breaker.State]
		state  = breaker.State
		act    = reducer.Action
	)
	made := func(change func(c *breaker.Config)) defect[state] {
		changed := c
		change(&changed)
		return instead[state](must(breaker.New(changed)))
	}
	return []ruled[state]{
		{"B1", "only legal changes of state, each a new generation",
			atStep(func(_ scene[state], t *passage[state]) error {
				mode, generation := t.Before.State.Mode, uint64(max(1, t.Before.State.Generation))
				for _, e := range t.Effects.Others {
					to := breaker.Mode(e.Permit.ID)
					legal := mode == breaker.Closed && to == breaker.Open || mode == breaker.Open && to == breaker.HalfOpen ||
						mode == breaker.HalfOpen && (to == breaker.Open || to == breaker.Closed)
					if !legal || e.Permit.Generation <= generation {
						return fmt.Errorf("from %s of generation %d by %s", mode, generation, e)
					}
					mode, generation = to, e.Permit.Generation
				}
				if s := &t.After.State; s.Mode != mode || s.Generation > 0 && uint64(s.Generation) != generation {
					return fmt.Errorf("%s of generation %d, reported %s and %d", s.Mode, s.Generation, mode, generation)
				}
				return nil
			}),
			"closes without any probe", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick && s.Mode == breaker.Open {
					a = act{Kind: reducer.Transition, Cost: uint32(breaker.Closed)}
				}
				return c.Step(s, a, now, out)
			})},
		{"B2", "open refuses until its deadline and admits at it",
			inState(func(s scene[state], r *room[state], now clock.Mark) error {
				if r.State.Mode != breaker.Open || r.State.OpenUntil < now {
					return nil
				}
				for at := now; at <= r.State.OpenUntil; at++ {
					d := tried(s.use.Cell, r.State, ask, at)
					retry, told := d.answer.RetryAt()
					if (d.answer.Verdict == reducer.Admit) != (at == r.State.OpenUntil) || at < r.State.OpenUntil && (!told || retry != r.State.OpenUntil) {
						return fmt.Errorf("open until %s, and at %s %s", r.State.OpenUntil, at, d.effects())
					}
				}
				return nil
			}),
			"admits a nanosecond early", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if s.Mode == breaker.Open && a.Kind == reducer.Acquire {
					now++
				}
				return c.Step(s, a, now, out)
			})},
		{"B3", "half-open: pending and finished probes are at most as many as configured",
			inState(func(sc scene[state], r *room[state], now clock.Mark) error {
				s := &r.State
				if s.Mode != breaker.HalfOpen {
					return nil
				}
				out := uint32(0)
				for i := range r.Callers {
					p := &r.Callers[i]
					if p.Standing == explore.Holds && p.Permit.Generation == uint64(s.Generation) && (c.HalfOpenMax > 0 || p.Since.Add(s.OpenFor) > now) {
						out++
					}
				}
				if max(out, uint32(s.ProbesOut))+s.Total > c.Probes {
					return fmt.Errorf("%d out (%d by the state), %d done, of %d", out, s.ProbesOut, s.Total, c.Probes)
				}
				if next := tried(sc.use.Cell, *s, ask, now).answer; next.Verdict == reducer.Admit && out+s.Total == c.Probes {
					return fmt.Errorf("%d out, %d done, of %d, and one more is admitted", out, s.Total, c.Probes)
				}
				return nil
			}),
			"sends one more probe than configured", made(func(c *breaker.Config) { c.Probes++ })},
		{"B4", "no deadlock: from every state, time alone leads to an admission",
			inState(func(s scene[state], r *room[state], now clock.Mark) error {
				state := reducer.ValuesOf(s.use.Cell).Clone(r.State)
				for range 4 {
					if tried(s.use.Cell, state, ask, now).answer.Verdict == reducer.Admit {
						return nil
					}
					wake, ok := reducer.ValuesOf(s.use.Cell).NextWake(state)
					if !ok {
						break
					}
					now = max(now, wake)
					state = tried(s.use.Cell, state, tick, now).state
				}
				return fmt.Errorf("%q refuses for ever", s.use.Cell.AppendText(nil, &state, now))
			}),
			"ignores time in half-open", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if s.Mode == breaker.HalfOpen {
					now = s.Last
				}
				return c.Step(s, a, now, out)
			})},
		{"B5", "it opens when the window has the minimum and reaches a rate, the exact threshold included, and not before",
			atStep(func(_ scene[state], t *passage[state]) error {
				window, opens, ok := recount(c, t)
				if opened := t.After.State.Mode == breaker.Open && t.Before.State.Mode == breaker.Closed; opened != (ok && opens) {
					return fmt.Errorf("window %v, minimum %d: opened %t", window, c.Minimum, opened)
				}
				return nil
			}),
			"uses a minimum that is one less", made(func(c *breaker.Config) { c.Minimum-- })},
		{"B6", "results of an older generation do not count",
			atStep(func(s scene[state], t *passage[state]) error {
				a := t.Before.Action(t.Action)
				if a.Kind != reducer.Record {
					return nil
				}
				idle := due(s, t)
				if a.Generation == uint64(idle.Generation) {
					return nil
				}
				if t.Effects.Answer.Verdict != reducer.Stale || !bytes.Equal(t.After.Bytes, s.encoded(idle, 0)) {
					return fmt.Errorf("%s counts in generation %d", a, idle.Generation)
				}
				return nil
			}),
			"counts results of any generation", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Record && s.Mode == breaker.Closed {
					a.Generation = uint64(s.Generation)
				}
				return c.Step(s, a, now, out)
			})},
		{"B7", "ignored outcomes free the probe's place and are not counted",
			atStep(func(s scene[state], t *passage[state]) error {
				a := t.Before.Action(t.Action)
				if a.Kind != reducer.Record || a.Outcome == reducer.OK || a.Outcome == reducer.Fail || a.Outcome == reducer.Timeout {
					return nil
				}
				was, is := due(s, t), t.After.State
				want := was.Core
				if was.Mode == breaker.HalfOpen && a.Generation == uint64(was.Generation) && slices.Contains(probesOf(&was), a.ID) {
					want.ProbesOut--
					want.Last, want.Cursor = max(was.Last, t.At), is.Cursor
				}
				if is.Core != want {
					return fmt.Errorf("%s makes %+v of %+v", a, is.Core, was.Core)
				}
				return nil
			}),
			"counts an ignored outcome as a success", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Outcome == reducer.Ignore {
					a.Outcome = reducer.OK
				}
				return c.Step(s, a, now, out)
			})},
		{"B8", "the window equals a naive recount",
			atStep(func(_ scene[state], t *passage[state]) error {
				was, is := &t.Before.State, &t.After.State
				if was.Mode != breaker.Closed || is.Mode != breaker.Closed || was.Generation != is.Generation {
					return nil
				}
				want, _, ok := recount(c, t)
				if !ok {
					want = ring(c, was)
				}
				if got := ring(c, is); !bytes.Equal(got, want) {
					return fmt.Errorf("window %v, want %v", got, want)
				}
				return nil
			}),
			"forgets that the fourth call failed", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Record && s.Mode == breaker.Closed && s.Cursor == 3 && a.Outcome == reducer.Fail {
					a.Outcome = reducer.OK
				}
				return c.Step(s, a, now, out)
			})},
		{"B9", "refusals are not failures: counts and deadlines stay",
			atStep(func(s scene[state], t *passage[state]) error {
				if t.Effects.Answer.Verdict != reducer.Reject {
					return nil
				}
				if want := tried(s.use.Cell, t.Before.State, tick, t.At).state; !bytes.Equal(t.After.Bytes, s.encoded(want, 0)) {
					return fmt.Errorf("%s makes %+v of %+v", t.Action.Action, t.After.State.Core, want.Core)
				}
				return nil
			}),
			"extends its open time at a refusal", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Reason == reducer.ReasonOpen {
					s.OpenUntil++
				}
				return answer
			})},
		{"B10", "the open time grows by its backoff, up to the maximum",
			atStep(func(_ scene[state], t *passage[state]) error {
				opens, opened := grown(t.Before.State.Opens, t.Before.State.Core, t.Action.Action, t.At, t.Effects.Others), clock.Never
				for _, e := range t.Effects.Others {
					if breaker.Mode(e.Permit.ID) == breaker.Open {
						opened = e.Permit.Mark
					}
				}
				s := &t.After.State
				lasts := s.OpenFor
				if s.Mode == breaker.Open && opened != clock.Never {
					lasts = s.OpenUntil.Sub(opened)
				}
				if s.Opens != opens || s.Mode == breaker.Open && (lasts != delay.Nominal(opens) || lasts > c.Open.Max) {
					return fmt.Errorf("opening %d lasts %s, by the backoff that of %d lasts %s", s.Opens, lasts, opens, delay.Nominal(opens))
				}
				return nil
			}),
			"always opens for the shortest time", made(func(c *breaker.Config) { c.Open.Max = c.Open.Base })},
		{"B11", "with a healthy dependency it closes within a bounded time",
			inState(func(s scene[state], r *room[state], now clock.Mark) error {
				d := done[state]{state: reducer.ValuesOf(s.use.Cell).Clone(r.State)}
				for range 8 {
					if d.state.Mode == breaker.Closed {
						return nil
					}
					d = tried(s.use.Cell, d.state, ask, now)
					if d.answer.Verdict == reducer.Admit {
						d = tried(s.use.Cell, d.state, act{Kind: reducer.Record, Outcome: reducer.OK, Permit: d.answer.Permit}, now)
						continue
					}
					if wake, ok := reducer.ValuesOf(s.use.Cell).NextWake(d.state); ok {
						now = max(now, wake)
					}
				}
				return fmt.Errorf("still %q", s.use.Cell.AppendText(nil, &d.state, now))
			}),
			"counts every probe as a failure", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Record && s.Mode == breaker.HalfOpen {
					a.Outcome = reducer.Fail
				}
				return c.Step(s, a, now, out)
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"counts a failure twice", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if s.Mode == breaker.Closed && a.Outcome == reducer.Fail && s.Total > 1 {
					s.Failed++
				}
				return answer
			})},
		{"Twin", "Reduce is Step on a clone, and a clone between two steps changes nothing", atSteps[state](Twin),
			"loses its pending probes in a clone", clones(func(c cellOf, dst, src *state) {
				c.Clone(dst, src)
				encoder.Recall(dst)
			})},
		{"G3", "a mark before the last one counts as the last one", asked[state](G3),
			"forgets its last mark when it opens", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if s.Mode == breaker.Open {
					s.Last = min(s.Last, now)
				}
				return c.Step(s, a, now, out)
			})},
		{"G4", "after a tick and serving, the next wake is later, or none", atStates[state](G4),
			"wakes at the deadline of a probe that has ended", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, due: func(c cellOf, s *state) reducer.Due {
					if s.Mode == breaker.HalfOpen && s.ProbesOut == 0 {
						return reducer.Due{Wake: s.Origin.Add(s.OpenFor)}
					}
					return c.Due(s)
				}}
			}},
		{"G5", "before the next wake a tick has no effect", asked[state](G5),
			"extends its open time by a nanosecond at every tick", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick && s.Mode == breaker.Open && s.OpenUntil > now {
					s.OpenUntil++
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the marks of its probes", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					origin := s.Origin
					if c.Move(s, by); s.Mode == breaker.HalfOpen {
						s.Origin = origin
					}
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
			"loses its pending probes when it is restored", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte, s *state) error {
					err := c.Decode(src, s)
					encoder.Recall(s)
					return err
				}}
			}},
	}
}
