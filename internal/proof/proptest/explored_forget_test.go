package proptest

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// exploredForget opens at 3 failures in a row, of which each comes less than 3 ns after the
// one before.
var exploredForget = breaker.Config{Window: breaker.Consecutive, Count: 3, Forget: 3, Probes: 1,
	Open: backoff.Config{Kind: backoff.Constant, Base: 2}}

func forgetScene() scene[breaker.State] {
	type (
		cellOf = reducer.Cell[breaker.State]
		state  = breaker.State
		act    = reducer.Action
	)
	record := func(o reducer.Outcome) act { return act{Kind: reducer.Record, Outcome: o} }
	made := func(change func(c *breaker.Config)) defect[state] {
		changed := exploredForget
		change(&changed)
		return instead[state](must(breaker.New(changed)))
	}
	// failures is how many failures at a mark open a closed breaker, at most twice as many as
	// open a new one.
	failures := func(c cellOf, s state, at clock.Mark) (n uint32) {
		p := reducer.Permit{Generation: uint64(s.Generation), Mark: at}
		for s.Mode == breaker.Closed && n < 2*exploredForget.Count {
			s = tried(c, s, act{Kind: reducer.Record, Outcome: reducer.Fail, Permit: p}, at).state
			n++
		}
		return n
	}
	closed := func(s *state) bool { return s.Mode == breaker.Closed && s.Generation > 0 }
	key := breakerKey(exploredForget)
	return scene[state]{
		key: func(dst []byte, r room[state], now clock.Mark) []byte {
			dst = key(dst, r, now)
			if s := &r.State; s.Mode == breaker.Closed && s.Failed > 0 {
				dst = append(dst, byte(min(now.Sub(s.Origin.Add(time.Duration(s.Cursor))), exploredForget.Forget)))
			}
			return dst
		},
		name: "breaker that forgets 3 failures in a row after 3 ns, 2 callers", depth: 12,
		use: explore.Use[state]{Cell: must(breaker.New(exploredForget)), New: "window=consecutive:3 forget=3ns", Callers: 2, Modes: breakerModes,
			Alphabet: []act{{Kind: reducer.Acquire, Cost: 1}, record(reducer.OK), record(reducer.Fail), record(reducer.Throttle), tick}},
		marks: explore.Marks{After: []time.Duration{0, 1, 2}, Wake: []time.Duration{-1, 0}},
		last:  func(s *state) (clock.Mark, bool) { return s.Last, s.Generation > 0 },
		move:  moveMark,
		rules: []ruled[state]{
			{"B17", "after the time to forget without a failure as many failures open it as open a new one",
				inState(func(s scene[state], r *room[state], now clock.Mark) error {
					if !closed(&r.State) {
						return nil
					}
					if n := failures(s.use.Cell, r.State, max(now, r.State.Last).Add(exploredForget.Forget)); n != exploredForget.Count {
						return fmt.Errorf("%d failures open it", n)
					}
					return nil
				}),
				"forgets a nanosecond late", made(func(c *breaker.Config) { c.Forget++ })},
			{"B8", "a failure counts with those before it that are not forgotten",
				atStep(func(s scene[state], t *passage[state]) error {
					was, is := &t.Before.State, &t.After.State
					a := t.Before.Action(t.Action)
					if a.Kind != reducer.Record || a.Outcome != reducer.Fail || !closed(was) || a.Generation != uint64(was.Generation) {
						return nil
					}
					want := failures(s.use.Cell, *was, t.At) - 1
					if got := failures(s.use.Cell, *is, t.At); got != want {
						return fmt.Errorf("%d more failures open it, not %d", got, want)
					}
					return nil
				}),
				"counts no failure at the mark of the one before", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
					if a.Outcome == reducer.Fail && now == s.Last && s.Failed > 0 {
						a.Outcome = reducer.Throttle
					}
					return c.Step(s, a, now, out)
				})},
			{"Sound", "after every step Check passes", atStates[state](Sound),
				"keeps a mark of the last failure that is to come", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
					answer := c.Step(s, a, now, out)
					if a.Outcome == reducer.Fail && s.Mode == breaker.Closed && s.Failed > 0 {
						s.Cursor++
					}
					return answer
				})},
			{"G5", "before the next wake a tick has no effect", asked[state](G5),
				"forgets at every tick", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
					if a.Kind == reducer.Tick && s.Mode == breaker.Closed {
						s.Failed, s.Cursor = 0, 0
					}
					return c.Step(s, a, now, out)
				})},
			{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
				"does not shift the mark of its last failure", func(sound cellOf) cellOf {
					return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
						if c.Move(s, by); s.Mode == breaker.Closed && s.Failed > 0 {
							s.Cursor -= min(s.Cursor, uint64(by))
						}
					}}
				}},
			{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[state](G9),
				"forgets when it is restored", func(sound cellOf) cellOf {
					return &crooked[state]{Cell: sound, decode: func(c cellOf, src []byte, s *state) error {
						err := c.Decode(src, s)
						if s.Mode == breaker.Closed {
							s.Failed, s.Cursor = 0, 0
						}
						return err
					}}
				}},
		},
	}
}
