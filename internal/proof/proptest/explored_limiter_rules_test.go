package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of rate limiters, at every state.

func countRules(r rate) []ruled[limiter.State] {
	type (
		S      = limiter.State
		cellOf = reducer.Cell[S]
		act    = reducer.Action
	)
	inEach := func(check func(c cellOf, s S, now clock.Mark) error) law[S] {
		return func(s scene[S]) checked[S] {
			return checked[S]{State: func(r room[S], now clock.Mark) error { return check(s.use.Cell, r.State, now) }}
		}
	}
	try := func(cost uint32) act { return act{Kind: reducer.TryAcquire, Cost: cost} }
	rules := []ruled[S]{
		{"L1", r.stated, func(scene[S]) checked[S] {
			return checked[S]{Step: func(t passage[S]) error { return r.stretches(t.After.Recent) }}
		},
			"admits every cost of 2 for 1", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Acquire && a.Cost == 2 {
					a.Cost = 0
				}
				return c.Step(s, a, now, out)
			})},
		{"L2", "retry-after is exact: refused before it, admitted at it",
			inEach(func(c cellOf, s S, now clock.Mark) error {
				for cost := uint32(1); cost <= r.capacity; cost++ {
					at, refused := tried(c, s, try(cost), now).answer.RetryAt()
					for when := now; refused && when <= at; when++ {
						if d := tried(c, s, try(cost), when); (d.answer.Verdict == reducer.Admit) != (when == at) {
							return fmt.Errorf("cost %d at %s has its turn at %s, and at %s: %s", cost, now, at, when, d.effects())
						}
					}
				}
				return nil
			}),
			"returns a retry-after that is a nanosecond too long", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Reason == reducer.ReasonRate {
					answer.Mark++
				}
				return answer
			})},
		{"L3", "a refusal changes nothing", atSteps[S](L3),
			"takes all free permits when it refuses", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Verdict == reducer.Reject && a.Kind != reducer.Peek {
					c.Step(s, act{Kind: reducer.Drain}, now, out)
				}
				return answer
			})},
		{"L4", "the free permits are at most the capacity, and exactly so many are admitted",
			inEach(func(c cellOf, s S, now clock.Mark) error {
				free := tried(c, s, act{Kind: reducer.Peek, Cost: 1}, now).answer.Free
				if free > r.capacity {
					return fmt.Errorf("%d of %d are free", free, r.capacity)
				}
				for cost := uint32(1); cost <= r.capacity; cost++ {
					if d := tried(c, s, try(cost), now); (d.answer.Verdict == reducer.Admit) != (cost <= free) {
						return fmt.Errorf("%d are free, and a cost of %d: %s", free, cost, d.effects())
					}
				}
				return nil
			}),
			"reports one more free permit", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Peek {
					answer.Free++
				}
				return answer
			})},
		{"L5", "a cost of n is n costs of 1 at one instant, all or nothing", atStates[S](L5(r.capacity)),
			"takes 1 for 2", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.TryAcquire && a.Cost == 2 {
					a.Cost = 1
				}
				return c.Step(s, a, now, out)
			})},
		{"L6", "a refusal of a cost above the capacity has its own reason and no retry-after", atStates[S](L6(r.capacity)),
			"returns a retry-after for it", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Reason == reducer.ReasonCapacity {
					answer.Mark = now + 1
				}
				return answer
			})},
		{"L13", "a permit that is taken and refunded at one mark leaves no trace", func(sc scene[S]) checked[S] {
			return checked[S]{State: func(rm room[S], now clock.Mark) error {
				c := sc.use.Cell
				for cost := uint32(1); cost <= r.capacity; cost++ {
					took := tried(c, rm.State, act{Kind: reducer.Reserve, Cost: cost, Permit: reducer.Permit{Mark: now + 2}}, now)
					if took.answer.Verdict != reducer.Admit {
						continue
					}
					back := tried(c, took.state, act{Kind: reducer.Cancel, Cost: cost, Permit: took.answer.Permit}, now)
					if was, is := outlookOf(c, rm.State, r, now), outlookOf(c, back.state, r, now); back.answer.Verdict != reducer.Done || !slices.Equal(was, is) {
						return fmt.Errorf("%s, given back: %s, and then %v, not %v", took.effects(), back.effects(), is, was)
					}
				}
				return nil
			}}
		},
			"keeps one permit of a refund", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if a.Kind == reducer.Cancel {
					c.Step(s, try(1), now, out)
				}
				return answer
			})},
		{"L16", "after a long time without use exactly the capacity is admitted",
			inEach(func(c cellOf, s S, now clock.Mark) error {
				now += 1_000
				all := tried(c, s, try(r.capacity), now)
				if one := tried(c, all.state, try(1), now); all.answer.Verdict != reducer.Admit || one.answer.Verdict != reducer.Reject {
					return fmt.Errorf("all of %d: %s, then one more: %s", r.capacity, all.effects(), one.effects())
				}
				return nil
			}),
			"admits more than the capacity after a long idle time", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if now >= 500 && a.Cost == 1 {
					a.Cost = 0
				}
				return c.Step(s, a, now, out)
			})},
		{"Sound", "after every step Check passes and the state can be decoded", atStates[S](Sound),
			"encodes one byte too many", func(sound cellOf) cellOf { return wordy[S]{sound} }},
		{"Twin", "Reduce is Step on a clone, and a clone between two steps changes nothing", atSteps[S](Twin),
			"is full in a clone", clones(func(c cellOf, dst, src *S) {
				c.Clone(dst, src)
				var full S
				c.Begin(&full, 0)
				*dst = full
			})},
		{"G3", "a mark before the last one counts as the last one, or is stricter", func(s scene[S]) checked[S] {
			sound := asked[S](G3)(s)
			return checked[S]{State: func(r room[S], now clock.Mark) error {
				for _, a := range questions(s, r) {
					early, late := tried(s.use.Cell, r.State, a, now-1), tried(s.use.Cell, r.State, a, now)
					if early.answer.Verdict == reducer.Admit && late.answer.Verdict != reducer.Admit {
						return fmt.Errorf("%s a nanosecond back is %s, now %s", a, early.effects(), late.effects())
					}
				}
				return sound.State(r, now)
			}}
		},
			"treats time that goes back as time that passes", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if now%2 != 0 {
					now += 2
				}
				return c.Step(s, a, now, out)
			})},
		{"G8", "if all marks are shifted by the same time, the decisions are the same", exploredG8[S],
			"does not shift the marks of what it granted", func(sound cellOf) cellOf {
				return &crooked[S]{Cell: sound, move: func(c cellOf, s *S, by time.Duration) {
					if by == 24*time.Hour {
						by--
					}
					c.Move(s, by)
				}}
			}},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[S](G9),
			"is full when it is restored", func(sound cellOf) cellOf {
				return &crooked[S]{Cell: sound, decode: func(c cellOf, src []byte, s *S) error {
					err := c.Decode(src, s)
					*s = reducer.ValuesOf(c).Init(0)
					return err
				}}
			}},
		{"G17", "a peek changes nothing, at any mark, and gives the answer of an acquire at that mark", atStates[S](G17),
			"advances time at a peek", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Peek {
					s.Last = max(s.Last, now)
				}
				return c.Step(s, a, now, out)
			})},
		{"G18", "a refusal, a stale action and a spurious tick leave the state as a tick would, and the answer says whether it changed", atSteps[S](G18),
			"stores the mark of a refusal", steps(func(c cellOf, s *S, a act, now clock.Mark, out *reducer.Out) reducer.Answer {
				answer := c.Step(s, a, now, out)
				if answer.Verdict == reducer.Reject {
					s.Last = max(s.Last, now)
				}
				return answer
			})},
	}
	return slices.DeleteFunc(rules, func(l ruled[S]) bool { return l.name == "L5" && !r.bursts })
}

// outlookOf returns the future answers of a limiter.
func outlookOf[S any](c reducer.Cell[S], s S, r rate, now clock.Mark) (all []uint64) {
	for when := now; when < now+8; when++ {
		for cost := uint32(1); cost <= r.capacity; cost++ {
			a := tried(c, s, reducer.Action{Kind: reducer.Peek, Cost: cost}, when).answer
			all = append(all, uint64(a.Verdict), uint64(a.Free), uint64(a.Mark))
		}
	}
	return all
}

// wordy is a cell that encodes one byte too many.
type wordy[S any] struct{ reducer.Cell[S] }

func (w wordy[S]) Encode(dst []byte, s *S) []byte { return append(w.Cell.Encode(dst, s), 0) }
