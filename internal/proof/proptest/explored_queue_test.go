package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The exploration of a limiter with a queue.

// queueScene is a token bucket with a queue before it.
func queueScene() scene[limiter.State] {
	config := limiter.Config{Count: 1, Period: 2, Burst: 2, Wait: 4, Queue: 2}
	made := func(change func(c *limiter.Config)) reducer.Cell[limiter.State] {
		c := config
		change(&c)
		return must(limiter.New(c))
	}
	r := rate{2, func(length int64) int64 { return 2 + length/2 }, "at most the burst and the permits that have refilled", 5, true}
	type (
		cellOf = reducer.Cell[limiter.State]
		state  = limiter.State
		act    = reducer.Action
	)
	queue := line[state]{queue: (*state).Queue, longest: config.Queue, wait: config.Wait}
	s := scene[state]{
		name: "token bucket of 1 in 2 ns with a burst of 2 and a queue of 2, 3 callers", depth: 6,
		use: explore.Use[state]{Cell: must(limiter.New(config)), New: "rate=1/2ns burst=2 wait=4ns queue=2", Callers: 3, Memory: r.memory,
			Alphabet: []act{{Kind: reducer.Acquire, Cost: 1}, {Kind: reducer.Acquire, Cost: 2}, {Kind: reducer.TryAcquire, Cost: 1},
				{Kind: reducer.Cancel}, {Kind: reducer.Release}, {Kind: reducer.Leave}, {Kind: reducer.Expire}, tick, {Kind: reducer.Serve}}},
		marks: explore.Marks{After: []time.Duration{0, 1}, Wake: []time.Duration{0}},
		last:  func(s *state) (clock.Mark, bool) { return s.Last, true },
		move:  moveLimit(limiter.TokenBucket),
	}
	s.rules = append(queue.laws(func(s *state) *clock.Mark { return &s.Last }), []ruled[state]{
		{"L1", r.stated, func(scene[state]) checked[state] {
			return checked[state]{Step: func(t passage[state]) error { return r.stretches(t.After.Recent) }}
		},
			"has one more permit in its burst than configured", instead(made(func(c *limiter.Config) { c.Burst++ }))},
		{"L3", "a refusal leaves the state as a tick does", atSteps[state](L3),
			"takes a permit when it refuses", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Verdict == reducer.Reject {
					*s = reducer.ValuesOf(c).Shift(*s, 1)
				}
				return answer
			})},
		{"L12", "a waiter is served no later than announced, if nothing else happens", toldTurns,
			"announces a turn a nanosecond too early", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Verdict == reducer.Wait {
					answer.Mark--
				}
				return answer
			})},
		{"K2", "waiting <= queue, and a full queue refuses", queue.k2,
			"has a longer queue than configured", instead(made(func(c *limiter.Config) { c.Queue++ }))},
		{"K5", "the oldest waiter is served first, and no newcomer overtakes", queue.k5,
			"serves the newest first", instead(made(func(c *limiter.Config) { c.Order = limiter.Newest }))},
		{"K7", "no wait is longer than the maximum wait", queue.k7,
			"allows waits of any length", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					return reducer.Answer{Verdict: reducer.Done}
				}
				if a.Kind == reducer.Serve {
					now--
				}
				return c.Step(s, a, now, out)
			})},
		{"G14", "the ledger balances: the waiters are the callers that acquired and whose wait has not ended", queue.g14,
			"emits no effect for a granted waiter", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				*out = slices.DeleteFunc(*out, func(e reducer.Effect) bool { return e.Kind == reducer.Grant })
				return answer
			})},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"encodes one byte too many", func(sound cellOf) cellOf { return wordy[state]{sound} }},
		{"G4", "after a tick and serving, the next wake is later, or none", atStates[state](G4),
			"wakes at once while a caller waits", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, due: func(c cellOf, s *state) reducer.Due {
					due := c.Due(s)
					if s.Waiting() > 0 {
						due.Wake = s.Last
					}
					return due
				}}
			}},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the ends of waits", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					c.Move(s, by)
					if by == 24*time.Hour {
						s.Queue().Shift(-by)
					}
				}}
			}},
	}...)
	return s
}

// toldTurns: a waiter is served no later than its announced turn, whether time passes
// in one step or from wake to wake.
func toldTurns(s scene[limiter.State]) checked[limiter.State] {
	c := s.use.Cell
	return checked[limiter.State]{Step: func(t passage[limiter.State]) error {
		turn, told := t.Effects.Answer.Until()
		if !told || t.Action.Action.Kind != reducer.Acquire {
			return nil
		}
		var out reducer.Out
		state := reducer.ValuesOf(c).Clone(t.After.State)
		for wake, ok := reducer.ValuesOf(c).NextWake(state); ok && wake <= turn; wake, ok = reducer.ValuesOf(c).NextWake(state) {
			state = settled(c, state, wake, &out)
		}
		if !slices.ContainsFunc(out, func(e reducer.Effect) bool { return e.Kind == reducer.Grant && e.Caller == t.Action.Caller }) {
			return fmt.Errorf("%d is announced %s, and by then: %v", t.Action.Caller, turn, out)
		}
		return nil
	}}
}
