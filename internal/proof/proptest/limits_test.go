package proptest

import (
	"fmt"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of rate limiters.

// interval is the time between two permits of a token bucket.
func interval(c limiter.Config) int64 {
	return (int64(c.Period) + int64(c.Count) - 1) / int64(c.Count)
}

// capacity is the most permits at one instant.
func capacity(c limiter.Config) uint32 {
	if c.Algorithm == limiter.TokenBucket {
		return c.Burst
	}
	return c.Count
}

// use is a permit that was used at a mark.
type use struct {
	at   clock.Mark
	cost int64
}

// uses are the permits that were not refunded, at the marks from which they may be
// used.
func (r *rig) uses(ready func(g grant) clock.Mark) (all []use) {
	type took struct {
		permit reducer.Permit
		cost   uint32
	}
	given := map[took]int{} // permits of one mark may have the same words
	for _, x := range r.log {
		if x.action.Kind == reducer.Cancel {
			given[took{x.action.Permit, x.action.Cost}]++
		}
	}
	for _, g := range r.grants {
		if what := (took{g.permit, g.cost}); given[what] > 0 {
			given[what]--
			continue
		}
		all = append(all, use{ready(g), int64(g.cost)})
	}
	return all
}

// refusals is how many were refused for one of the reasons.
func (r *rig) refusals(why ...reducer.Reason) (n int) {
	for _, x := range r.log {
		if x.answer.Verdict == reducer.Reject && slices.Contains(why, x.answer.Reason) {
			n++
		}
	}
	return n
}

func granted(g grant) clock.Mark { return g.at }

func ready(g grant) clock.Mark { return g.ready }

// bounded looks for a window, from one use to another, that holds more than it
// may.
func bounded(all []use, most func(length int64) int64) error {
	for _, first := range all {
		for _, last := range all {
			if last.at < first.at {
				continue
			}
			sum := int64(0)
			for _, u := range all {
				if u.at >= first.at && u.at <= last.at {
					sum += u.cost
				}
			}
			if m := most(int64(last.at - first.at)); sum > m {
				return fmt.Errorf("%d were admitted in [%s, %s], which may hold %d", sum, first.at, last.at, m)
			}
		}
	}
	return nil
}

// L1: in any window of length W at most burst + W / interval are admitted.
// Reservations count when they may be used; TestRefunds has more about them.
func L1(m machine, h history) error {
	r, c := play(m, h)
	if r.refusals(reducer.ReasonRate, reducer.ReasonWait, reducer.ReasonFull) > 0 {
		m.meet()
	}
	if err := bounded(r.uses(ready), func(w int64) int64 { return int64(c.limit.Burst) + w/interval(c.limit) }); err != nil {
		return fmt.Errorf("L1: %w", err)
	}
	return nil
}

// L2: a refusal's retry-after is exact: refused at every earlier instant, not refused
// at it, when nothing else happens. A refused probe gets the open time instead, and
// after a drain waiters that time out count as served at their turn.
func L2(m machine, h history) error {
	r, _ := rigged(m, h)
	r.without = reducer.Drain
	for _, w := range h.steps() {
		before := len(r.log)
		r.next(w)
		for _, x := range r.log[before:] {
			at, told := x.answer.RetryAt()
			if !told || x.at != r.now || x.answer.Reason == reducer.ReasonProbes || x.action.Kind == reducer.Peek || x.action.Kind == reducer.Reserve {
				continue
			}
			m.meet()
			if at <= x.at {
				return fmt.Errorf("L2: %s", x)
			}
			for _, early := range [...]clock.Mark{at - 1, x.at + (at-x.at)/2, x.at, at} {
				if got := r.again(x.action, early); got.answer.Verdict == reducer.Reject != (early < at) {
					return fmt.Errorf("L2: %s, but %s", x, got)
				}
			}
		}
	}
	return r.err
}

// again repeats the acquire later, on a copy to which nothing else happens.
func (r *rig) again(a reducer.Action, at clock.Mark) record {
	c := *r
	c.subject = r.subject.Clone()
	c.waiting = map[uint64]reducer.Answer{}
	for caller, answer := range r.waiting {
		c.waiting[caller] = answer
	}
	c.grants, c.tickets, c.before = append([]grant(nil), r.grants...), nil, nil
	c.advance(at)
	a.ID += 10_000
	return step(c.subject, a, at)
}

// L4: at most the capacity is free, and a debt ends when the permits that were taken
// have had the time to refill.
func L4(m machine, h history) error {
	r, c := rigged(m, h)
	steps := h.steps()
	latest := clock.Mark(0) // of a use
	for _, w := range steps {
		r.next(w)
		peek := step(r.subject.Clone(), reducer.Action{Kind: reducer.Peek}, r.now)
		if peek.answer.Free > capacity(c.limit) {
			return fmt.Errorf("L4: %d of %d are free", peek.answer.Free, capacity(c.limit))
		}
		for _, g := range r.grants {
			latest = max(latest, g.at)
		}
		if len(r.log) > 0 && r.log[len(r.log)-1].action.Kind == reducer.Reserve {
			latest += 64 // the latest use of a reservation and the permits granted with it
		}
	}
	whole := clock.Mark(c.limit.Period)
	if c.limit.Algorithm == limiter.TokenBucket {
		whole = clock.Mark(interval(c.limit) * int64(c.limit.Burst))
	}
	r.advance(max(r.now, latest) + 100) // every waiter is served or cancelled
	r.advance(r.now + 4*whole)
	if len(r.grants) > 0 {
		m.meet()
	}
	if peek := step(r.subject, reducer.Action{Kind: reducer.Peek}, r.now); len(r.waiting) == 0 && peek.answer.Free != capacity(c.limit) {
		return fmt.Errorf("L4: long after all %d of %d are free", peek.answer.Free, capacity(c.limit))
	}
	return r.err
}
