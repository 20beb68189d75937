package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/reducer/explore"
)

// The invariants of bulkheads, at every state.

func placesRules(c bulkhead.Config) []ruled[bulkhead.State] {
	type (
		cellOf = reducer.Cell[bulkhead.State]
		state  = bulkhead.State
		act    = reducer.Action
	)
	made := func(change func(c *bulkhead.Config)) defect[state] {
		changed := c
		change(&changed)
		return instead[state](must(bulkhead.New(changed)))
	}
	everywhere := func(check func(s scene[state], r *room[state], now clock.Mark) error) law[state] {
		return func(s scene[state]) checked[state] {
			return checked[state]{State: func(r room[state], now clock.Mark) error { return check(s, &r, now) }}
		}
	}
	holds := func(r *room[state]) (all []reducer.Permit, places uint32) {
		for i := range r.Callers {
			if r.Callers[i].Standing == explore.Holds {
				all = append(all, r.Callers[i].Permit)
				places += r.Callers[i].Cost
			}
		}
		return all, places
	}
	queue := line[state]{queue: func(s *state) *limiter.Queue { return &s.Queue }, longest: c.Queue, wait: c.Wait}
	return append(queue.laws(func(s *state) *clock.Mark { return &s.Last }), []ruled[state]{
		{"K1", "in flight <= places",
			everywhere(func(_ scene[state], r *room[state], _ clock.Mark) error {
				if _, n := holds(r); n > c.Concurrent || r.State.Held > c.Concurrent {
					return fmt.Errorf("%d places are held, %d by the state, of %d", n, r.State.Held, c.Concurrent)
				}
				return nil
			}),
			"has one more place than configured", made(func(c *bulkhead.Config) { c.Concurrent++ })},
		{"K2", "waiting <= queue, and a full queue refuses", queue.k2,
			"has a longer queue than configured", made(func(c *bulkhead.Config) { c.Queue++ })},
		{"K3", "places are conserved: a place is held from its grant until its release or the end of its lease; after all releases all places are free",
			everywhere(func(s scene[state], r *room[state], now clock.Mark) error {
				held, n := holds(r)
				if n != r.State.Held {
					return fmt.Errorf("%d places are held, %d by the state", n, r.State.Held)
				}
				all := reducer.ValuesOf(s.use.Cell).Clone(r.State)
				var out reducer.Out
				for _, p := range held {
					if a := s.use.Cell.Step(&all, act{Kind: reducer.Release, Permit: p}, now, &out); a.Verdict != reducer.Done {
						return fmt.Errorf("the release of %v is %s", p, a)
					}
				}
				if peek := tried(s.use.Cell, all, act{Kind: reducer.Peek}, now); peek.answer.Free != c.Concurrent {
					return fmt.Errorf("with all given back: %s", peek.effects())
				}
				return nil
			}),
			"never frees the place of a cancelled permit", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Cancel {
					return reducer.Answer{Verdict: reducer.Done}
				}
				return c.Step(s, a, now, out)
			})},
		{"K4", "after serving, no caller waits while the places of the first one are free",
			everywhere(func(s scene[state], r *room[state], now clock.Mark) error {
				var out reducer.Out
				if after := settled(s.use.Cell, r.State, now, &out); after.Queue.Len() > 0 && after.Held+after.Queue.Front().Cost <= c.Concurrent {
					return fmt.Errorf("%d wait and %d of %d places are held", after.Queue.Len(), after.Held, c.Concurrent)
				}
				return nil
			}),
			"does not serve its queue", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Serve {
					return reducer.Answer{}
				}
				return c.Step(s, a, now, out)
			})},
		{"K5", "the oldest waiter is served first, and no newcomer overtakes", queue.k5,
			"serves the newest first", made(func(c *bulkhead.Config) { c.Order = limiter.Newest })},
		{"K6", "a wait that is over is never granted", queue.k6(0),
			"serves the queue before it ends expired waits", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Serve {
					now = s.Last
				}
				return c.Step(s, a, now, out)
			})},
		{"K7", "no wait is longer than the maximum wait", queue.k7,
			"allows longer waits than configured", made(func(c *bulkhead.Config) { c.Wait++ })},
		{"K8", "a place is released once, and late actions change nothing", exploredG13[state],
			"releases the latest place in place of the named one", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Release {
					a.Generation = s.Serial
				}
				return c.Step(s, a, now, out)
			})},
		{"G14", "the ledger balances: the waiters are the callers that acquired and whose wait has not ended", queue.g14,
			"emits no effect for a dropped waiter", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				*out = slices.DeleteFunc(*out, func(e reducer.Effect) bool { return e.Kind == reducer.Drop })
				return answer
			})},
		{"K3 (leases)", "no deadlock: from every state, time alone leads to an admission",
			everywhere(func(s scene[state], r *room[state], now clock.Mark) error {
				after := reducer.ValuesOf(s.use.Cell).Clone(r.State)
				for range 12 {
					var out reducer.Out
					after = settled(s.use.Cell, after, now, &out)
					if tried(s.use.Cell, after, act{Kind: reducer.TryAcquire}, now).answer.Verdict == reducer.Admit {
						return nil
					}
					wake, ok := reducer.ValuesOf(s.use.Cell).NextWake(after)
					if !ok {
						break
					}
					now = max(now, wake)
				}
				return fmt.Errorf("%q refuses for ever", s.use.Cell.AppendText(nil, &after, now))
			}),
			"does not end leases", made(func(c *bulkhead.Config) { c.Lease = 0 })},
		{"Sound", "after every step Check passes", atStates[state](Sound),
			"counts a renewed place twice", steps(func(c cellOf, s *state, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Renew && answer.Verdict == reducer.Done {
					s.Held++
				}
				return answer
			})},
		{"G4", "after a tick and serving, the next wake is later, or none", atStates[state](G4),
			"wakes at once while a place is held", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, due: func(c cellOf, s *state) reducer.Due {
					if s.Held > 0 {
						return reducer.Due{Wake: s.Last}
					}
					return c.Due(s)
				}}
			}},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[state],
			"does not shift the ends of waits", func(sound cellOf) cellOf {
				return &crooked[state]{Cell: sound, move: func(c cellOf, s *state, by time.Duration) {
					c.Move(s, by)
					s.Queue.Shift(-by)
				}}
			}},
	}...)
}
