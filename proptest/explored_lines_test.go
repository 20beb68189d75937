package proptest

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of queues, at every state.

// line is a queue's rules: what its waiters are, and how long it may be.
type line[S any] struct {
	queue   func(s *S) *limiter.Queue
	longest uint32
	wait    time.Duration
}

// k2: no more wait than the queue holds, and who comes then is refused.
func (l line[S]) k2(s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		if n := uint32(len(r.Queue)); n > l.longest {
			return fmt.Errorf("%d wait in a queue of %d", n, l.longest)
		}
		var out reducer.Out
		after := settled(s.use.Cell, r.State, now, &out)
		newcomer := reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: uint64(len(r.Callers)) + 1}}
		if d := tried(s.use.Cell, after, newcomer, now); l.queue(&after).Len() >= l.longest && d.answer.Verdict != reducer.Reject {
			return fmt.Errorf("the queue is full, and who comes: %s", d.effects())
		}
		return nil
	}}
}

// k5: the oldest is served first, and nobody overtakes.
func (l line[S]) k5(scene[S]) checked[S] {
	return checked[S]{Step: func(t passage[S]) error {
		waiting := slices.Clone(t.Before.Queue)
		for _, e := range t.Effects.Others {
			i := slices.Index(waiting, e.Caller)
			if e.Kind == reducer.Grant && i != 0 {
				return fmt.Errorf("%s with %v waiting", e, waiting)
			}
			if e.Kind == reducer.Grant || e.Kind == reducer.Drop && i >= 0 {
				waiting = slices.Delete(waiting, i, i+1)
			}
		}
		if kind := t.Action.Action.Kind; len(waiting) > 0 && t.Effects.Answer.Verdict == reducer.Admit && (kind == reducer.Acquire || kind == reducer.TryAcquire) {
			return fmt.Errorf("%d overtakes %v", t.Action.Caller, waiting)
		}
		return nil
	}}
}

// k6: whose wait is over is not granted. At its very end a limiter's turn is
// had, a bulkhead's place is not.
func (l line[S]) k6(spare time.Duration) law[S] {
	return func(scene[S]) checked[S] {
		return checked[S]{Step: func(t passage[S]) error {
			for _, e := range t.Effects.Others {
				if e.Kind == reducer.Grant && e.Caller > 0 && t.At.Sub(t.Before.Callers[e.Caller-1].Since) >= l.wait+spare {
					return fmt.Errorf("%s at %s, and it waits since %s", e, t.At, t.Before.Callers[e.Caller-1].Since)
				}
			}
			return nil
		}}
	}
}

// k7: after a tick and serving nobody waits who began the longest wait ago.
func (l line[S]) k7(s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		var out reducer.Out
		after := settled(s.use.Cell, r.State, now, &out)
		q := l.queue(&after)
		for i := range int(q.Len()) {
			w := q.At(i)
			if since := r.Callers[w.Caller-1].Since; now.Sub(since) >= l.wait {
				return fmt.Errorf("at %s %d waits since %s", now, w.Caller, since)
			}
		}
		return nil
	}}
}

// g14: who waits by the books, that is who asked and was neither served, nor
// put out, nor gave up, is who waits by the state.
func (l line[S]) g14(scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], _ clock.Mark) error {
		var waits []uint64
		q := l.queue(&r.State)
		for i := range int(q.Len()) {
			waits = append(waits, q.At(i).Caller)
		}
		if !slices.Equal(waits, r.Queue) {
			return fmt.Errorf("%v wait, %v by the books", waits, r.Queue)
		}
		return nil
	}}
}

// laws are the rules of every cell with a queue whose mutants do not depend on
// what the cell is besides. last is the last mark of a state.
func (l line[S]) laws(last func(s *S) *clock.Mark) []ruled[S] {
	type cellOf = reducer.Cell[S]
	return []ruled[S]{
		{"G12", "a wait ends once: served, put out or given up", exploredG12[S],
			"does not hear who leaves", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Leave {
					return reducer.Answer{Verdict: reducer.Done}
				}
				return c.Step(s, a, now, out)
			})},
		{"Twin", "Reduce is Step on a clone", atSteps[S](Twin),
			"lets who would not wait stand in the queue", reduces(func(c cellOf, s S, a reducer.Action, now clock.Mark) (S, reducer.Effects) {
				if a.Kind == reducer.TryAcquire {
					a.Kind = reducer.Acquire
				}
				return c.Reduce(s, a, now)
			})},
		{"G2", "Reduce leaves its input as it was", exploredG2[S],
			"reduces in place", reduces(func(c cellOf, s S, a reducer.Action, now clock.Mark) (S, reducer.Effects) {
				var out reducer.Out
				answer := c.Step(&s, a, now, &out)
				return s, reducer.Effects{Answer: answer, Others: out}
			})},
		{"G3", "a mark before the last one counts as the last one", asked[S](G3),
			"goes back in time", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				*last(s) = min(*last(s), now)
				return c.Step(s, a, now, out)
			})},
		{"G5", "before the next wake a tick is not to be told from none", asked[S](G5),
			"lets wait a nanosecond longer at every tick", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					l.queue(s).Shift(1)
				}
				return c.Step(s, a, now, out)
			})},
		{"G9", "decoded and encoded again a state is the same, and goes on alike", asked[S](G9),
			"forgets who waits when it is restored", func(sound cellOf) cellOf {
				return &crooked[S]{Cell: sound, decode: func(c cellOf, src []byte) (S, error) {
					s, err := c.DecodeState(src)
					*l.queue(&s) = limiter.Queue{}
					return s, err
				}}
			}},
	}
}
