package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The exploration of adaptive limits.

// exploredAdaptive goes from 1 to 3 places, in nanoseconds.
var exploredAdaptive = adaptive.Config{Initial: 2, Minimum: 1, Maximum: 3, Increase: 1, Decrease: reducer.Whole / 2, Over: 1}

func adaptiveScene() scene[adaptive.State] {
	type (
		state  = adaptive.State
		cellOf = reducer.Cell[state]
		act    = reducer.Action
	)
	record := func(o reducer.Outcome) act { return act{Kind: reducer.Record, Outcome: o} }
	s := scene[state]{
		name: "adaptive limit of 1 to 3 places, 3 callers", depth: 8,
		use: explore.Use[state]{Cell: must(adaptive.New(exploredAdaptive)), Callers: 3,
			New: "initial=2 minimum=1 maximum=3 decrease=50% over=1ns",
			Alphabet: []act{{Kind: reducer.Acquire, Cost: 1}, {Kind: reducer.TryAcquire, Cost: 1}, record(reducer.OK), record(reducer.Fail),
				record(reducer.Ignore), {Kind: reducer.Cancel}, tick}},
		late:  []act{{Kind: reducer.Release}, {Kind: reducer.Cancel}, record(reducer.OK), record(reducer.Fail)},
		marks: explore.Marks{After: []time.Duration{0, 1, 2}},
		last:  func(s *state) (clock.Mark, bool) { return s.Last, true },
		move:  moveMark,
	}
	s.rules = []ruled[state]{
		{"A1", "minimum <= limit <= maximum, and no more hold a place than the greatest limit", func(scene[state]) checked[state] {
			return checked[state]{State: func(r room[state], _ clock.Mark) error {
				holding := 0
				for i := range r.Callers {
					if r.Callers[i].Standing == explore.Holds {
						holding++
					}
				}
				if places := r.State.Limit / adaptive.Place; places < 1 || places > 3 || r.State.Limit > 3*adaptive.Place || holding > 3 {
					return fmt.Errorf("%d hold, the limit is %d millionths", holding, r.State.Limit)
				}
				return nil
			}}
		},
			"has a maximum of one more", instead[state](must(adaptive.New(func() adaptive.Config {
				c := exploredAdaptive
				c.Maximum++
				return c
			}())))},
		{"G2", "Reduce leaves its input as it was", exploredG2[state],
			"reduces in place", reduces(func(c cellOf, s state, a act, now clock.Mark) (state, reducer.Effects) {
				var out reducer.Out
				answer := c.Step(&s, a, now, &out)
				return s, reducer.Effects{Answer: answer, Others: out}
			})},
		{"G3", "a mark before the last one counts as the last one", exploredG3[state],
			"goes back in time", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				s.Last = min(s.Last, now)
				return c.Step(s, a, now, out)
			})},
		{"G5", "a tick is not to be told from none", exploredG5[state],
			"takes a tick for the mark of a decrease", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					s.Last = max(s.Last, now)
					s.Lowered = s.Last
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "moved along the line of marks all is decided alike", exploredG8[state],
			"does not move the mark of the last decrease", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, shift: func(c cellOf, s state, by time.Duration) state {
					lowered := s.Lowered
					if s = c.Shift(s, by); by == 24*time.Hour {
						s.Lowered = lowered
					}
					return s
				}}
			}},
		{"G9", "decoded and encoded again a state is the same, and goes on alike", exploredG9[state],
			"forgets the mark of the last decrease when it is restored", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte) (state, error) {
					s, err := c.DecodeState(src)
					s.Lowered = clock.Always
					return s, err
				}}
			}},
		{"G13", "what is done late, twice or with a permit that never was changes nothing", exploredG13[state],
			"counts a failure whoever reports it", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && answer.Verdict == reducer.Stale && a.Outcome == reducer.Fail {
					s.Limit = adaptive.Place
				}
				return answer
			})},
		{"Sound", "no step breaks what Check checks", exploredSound[state],
			"lowers the limit at a mark to come", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && a.Outcome == reducer.Fail && answer.Verdict == reducer.Done {
					s.Lowered = s.Last + 1
				}
				return answer
			})},
		{"Twin", "Reduce is Step on a clone", exploredTwin[state],
			"reduces a failure to a success", reduces(func(c cellOf, s state, a act, now clock.Mark) (state, reducer.Effects) {
				if a.Outcome == reducer.Fail {
					a.Outcome = reducer.OK
				}
				return c.Reduce(s, a, now)
			})},
	}
	return s
}
