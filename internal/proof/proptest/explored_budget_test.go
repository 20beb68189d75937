package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The exploration of the retry budget.

// budgetScene is a retry budget. Its callers hold no permits.
func budgetScene() scene[budget.State] {
	config := budget.Config{Ratio: reducer.Percent(50), Window: 20, MinimumCount: 1, MinimumPeriod: 20}
	type (
		cellOf = reducer.Cell[budget.State]
		state  = budget.State
		act    = reducer.Action
	)
	sums := func(s *state, now clock.Mark, window int64) (first, retries uint64) {
		for _, b := range tenths(s, now, window) {
			first += uint64(b.First)
			retries += uint64(b.Retries)
		}
		return first, retries
	}
	s := scene[state]{
		name: "budget of a half and 1 in 20 ns", depth: 7,
		use: explore.Use[state]{Cell: must(budget.New(config)), New: "ratio=50% window=20ns minimum=1/20ns",
			Alphabet: []act{{Kind: reducer.Record}, {Kind: reducer.Acquire, Cost: 1}, {Kind: reducer.TryAcquire, Cost: 1}, {Kind: reducer.Peek, Cost: 1}, tick, {Kind: reducer.Reset}}},
		marks: explore.Marks{After: []time.Duration{0, 2, 7, 19}},
		last:  func(s *state) (clock.Mark, bool) { return s.Last, s.Begun },
		move:  moveMark,
	}
	s.rules = []ruled[state]{
		{"R8", "retries <= minimum + ratio x first attempts of the window, when one is granted", func(scene[state]) checked[state] {
			return checked[state]{Step: func(t passage[state]) error {
				kind := t.Action.Action.Kind
				if kind != reducer.Acquire && kind != reducer.TryAcquire {
					return nil
				}
				first, retries := sums(&t.After.State, t.At, int64(config.Window))
				allowed := 1 + first/2
				if admitted := t.Effects.Answer.Verdict == reducer.Admit; admitted && retries > allowed || !admitted && retries < allowed {
					return fmt.Errorf("%s with %d first attempts and %d retries", t.Effects, first, retries)
				}
				return nil
			}}
		},
			"allows one more retry than configured", instead[state](must(budget.New(budget.Config{Ratio: config.Ratio, Window: config.Window, MinimumCount: 2, MinimumPeriod: 20})))},
		{"R8 (window)", "the counts are those of the last ten tenths of the window, the present one included", func(scene[state]) checked[state] {
			return checked[state]{Step: func(t passage[state]) error { return recountBudget(&t, int64(config.Window)) }}
		},
			"forgets a first attempt in twenty nanoseconds too soon", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if s.Head > 2 {
					s.Buckets[(s.Head-3)%10] = budget.Bucket{}
				}
				return answer
			})},
		{"G3", "a mark before the last one counts as the last one", asked[state](G3),
			"accepts a mark before its last one", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				s.Last = min(s.Last, now)
				return c.Step(s, a, now, out)
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"counts in a bucket that does not exist", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Record && s.Head == 0 {
					s.Buckets[9].First = 1
				}
				return answer
			})},
		{"Twin", "Reduce is Step on a clone, and a clone between two steps changes nothing", atSteps[state](Twin),
			"loses its count of retries in a clone", clones(func(c cellOf, dst, src *state) {
				c.Clone(dst, src)
				for i := range dst.Buckets {
					dst.Buckets[i].Retries = 0
				}
			})},
		{"G5", "a tick has no effect", asked[state](G5),
			"counts a tick as a first attempt", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					a.Kind = reducer.Record
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift its origin", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					origin := s.Origin
					if c.Move(s, by); by == 24*time.Hour {
						s.Origin = origin
					}
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
			"loses its count of retries when it is restored", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte, s *state) error {
					err := c.Decode(src, s)
					for i := range s.Buckets {
						s.Buckets[i].Retries = 0
					}
					return err
				}}
			}},
	}
	return s
}

// recountBudget moves the counts before the step from tenth to tenth, and compares.
func recountBudget(t *passage[budget.State], window int64) error {
	was, is := &t.Before.State, &t.After.State
	if !was.Begun || !is.Begun || was.Origin != is.Origin {
		return nil
	}
	counts := tenths(was, t.At, window)
	kind, admitted := t.Action.Action.Kind, t.Effects.Answer.Verdict == reducer.Admit
	if kind == reducer.Record {
		counts[0].First++
	}
	if admitted && (kind == reducer.Acquire || kind == reducer.TryAcquire) {
		counts[0].Retries++
	}
	for i, got := range tenths(is, t.At, window) {
		if got != counts[i] {
			return fmt.Errorf("%d tenths ago %+v, by a recount %+v", i, got, counts[i])
		}
	}
	return nil
}

// tenths are the counts of the tenths of a window up to a mark, the present one
// first.
func tenths(s *budget.State, now clock.Mark, window int64) (counts [10]budget.Bucket) {
	present := int64(max(now, s.Last)-s.Origin) * 10 / window
	for i := range counts {
		if number := present - int64(i); number >= 0 && number <= int64(s.Head) && number > int64(s.Head)-10 {
			counts[i] = s.Buckets[number%10]
		}
	}
	return counts
}
