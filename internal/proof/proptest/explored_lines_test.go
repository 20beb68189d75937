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

// line has the rules of a queue: its waiters and its maximum length.
type line[S any] struct {
	queue   func(s *S) *limiter.Queue
	longest uint32
	wait    time.Duration
}

// k2: at most as many callers wait as the queue holds, and a full queue refuses.
func (l line[S]) k2(s scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], now clock.Mark) error {
		if n := uint32(len(r.Queue)); n > l.longest {
			return fmt.Errorf("%d wait in a queue of %d", n, l.longest)
		}
		var out reducer.Out
		after := settled(s.use.Cell, r.State, now, &out)
		newcomer := reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: uint64(len(r.Callers)) + 1}}
		if d := tried(s.use.Cell, after, newcomer, now); l.queue(&after).Len() >= l.longest && d.answer.Verdict != reducer.Reject {
			return fmt.Errorf("the queue is full, and a newcomer gets: %s", d.effects())
		}
		return nil
	}}
}

// k5: the oldest waiter is served first, and no newcomer overtakes.
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

// k6: a wait that is over is not granted. At the exact end of its wait a limiter
// still grants the turn, a bulkhead grants no place.
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

// k7: after a tick and serving, no caller has waited for the maximum wait.
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

// g14: the waiters of the records, which are the callers that acquired and were
// neither served, nor dropped, nor cancelled, are the waiters of the state.
func (l line[S]) g14(scene[S]) checked[S] {
	return checked[S]{State: func(r room[S], _ clock.Mark) error {
		var waits []uint64
		q := l.queue(&r.State)
		for i := range int(q.Len()) {
			waits = append(waits, q.At(i).Caller)
		}
		if !slices.Equal(waits, r.Queue) {
			return fmt.Errorf("%v wait, %v by the records", waits, r.Queue)
		}
		return nil
	}}
}

// laws are the rules of every cell with a queue whose mutants do not depend on the
// kind of the cell. last is the last mark of a state.
func (l line[S]) laws(last func(s *S) *clock.Mark) []ruled[S] {
	type cellOf = reducer.Cell[S]
	return []ruled[S]{
		{"G12", "a wait ends exactly once: served, dropped or cancelled", exploredG12[S],
			"ignores cancelled waits", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Leave {
					return reducer.Answer{Verdict: reducer.Done}
				}
				return c.Step(s, a, now, out)
			})},
		{"Twin", "Reduce is Step on a clone, and a clone between two steps changes nothing", atSteps[S](Twin),
			"loses its waiters in a clone", clones(func(c cellOf, dst, src *S) {
				c.Clone(dst, src)
				*l.queue(dst) = limiter.Queue{}
			})},
		{"G2", "a step of a clone leaves the state as it was", exploredG2[S],
			"shares its memory with its clone", clones(func(_ cellOf, dst, src *S) { *dst = *src })},
		{"G3", "a mark before the last one counts as the last one", asked[S](G3),
			"accepts a mark before its last one", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				*last(s) = min(*last(s), now)
				return c.Step(s, a, now, out)
			})},
		{"G5", "before the next wake a tick has no effect", asked[S](G5),
			"extends waits by a nanosecond at every tick", steps(func(c cellOf, s *S, a reducer.Action, now clock.Mark, out *reducer.Out) reducer.Answer {
				if a.Kind == reducer.Tick {
					l.queue(s).Shift(1)
				}
				return c.Step(s, a, now, out)
			})},
		{"G9", "a state that is encoded and decoded is the same, and decides the same afterwards", asked[S](G9),
			"loses its waiters when it is restored", func(sound cellOf) cellOf {
				return &crooked[S]{Cell: sound, decode: func(c cellOf, src []byte, s *S) error {
					err := c.Decode(src, s)
					*l.queue(s) = limiter.Queue{}
					return err
				}}
			}},
	}
}
