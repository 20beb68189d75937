package proptest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// L11: intervals are half open everywhere: at the mark of its end a window, an
// open time, a lease, a wait is over, and not a nanosecond before.
func L11(m machine, h history) error {
	s, c := m.begin(h)
	r := newRig(s, m.kind)
	switch m.kind {
	case limiters:
		r.step(reducer.Action{Kind: reducer.TryAcquire, Cost: capacity(c.limit)})
		r.now += clock.Mark(c.limit.Period) * clock.Mark(h.word(1)%2) / 2
		end := clock.Mark(c.limit.Period)
		switch c.limit.Algorithm {
		case limiter.TokenBucket:
			end = clock.Mark(interval(c.limit))
		case limiter.LeakyBucket:
			end = clock.Mark(interval(c.limit)) * clock.Mark(c.limit.Count)
		}
		if c.limit.Algorithm == limiter.SlidingCounter {
			end += end / clock.Mark(c.limit.Count)
			if int64(c.limit.Period)%int64(c.limit.Count) != 0 {
				end++
			}
		}
		return edge(m, r, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, end)
	case breakerFamily:
		r.step(reducer.Action{Kind: reducer.Transition, Cost: 1})
		until := r.subject.Look().breaker.OpenUntil
		return edge(m, r, reducer.Action{Kind: reducer.Acquire, Cost: 1}, until)
	default:
		if c.bulkhead.Lease == 0 {
			return nil
		}
		for range c.bulkhead.Concurrent {
			r.step(reducer.Action{Kind: reducer.Acquire, Cost: 1})
		}
		return edge(m, r, reducer.Action{Kind: reducer.TryAcquire, Cost: 1}, clock.Mark(c.bulkhead.Lease))
	}
}

// edge acquires just before and at the end of an interval.
func edge(m machine, r *rig, a reducer.Action, end clock.Mark) error {
	for _, at := range [...]clock.Mark{end - 1, end} {
		m.meet()
		if x := r.again(a, at); (x.answer.Verdict == reducer.Admit) != (at == end) {
			return fmt.Errorf("L11: the interval ends at %s, and %s", end, x)
		}
	}
	return nil
}

// L13: a reservation that is cancelled at its mark leaves no trace. One that is
// cancelled later refunds at most what it took, and delays no other caller's permit.
func L13(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		a := reducer.Action{Kind: reducer.Reserve, Cost: 1 + uint32(w>>44%3), Permit: reducer.Permit{Mark: r.now + clock.Mark(w>>48%32)}}
		kept, gone := r.subject.Clone(), r.subject.Clone()
		step(kept, tick, r.now)
		x := step(gone, a, r.now)
		if x.answer.Verdict != reducer.Admit {
			continue
		}
		m.meet()
		back := reducer.Action{Kind: reducer.Cancel, Cost: a.Cost, Permit: x.answer.Permit}
		later := gone.Clone()
		step(gone, back, r.now)
		if was, is := outlook(kept, r.now), outlook(gone, r.now); was != is {
			return fmt.Errorf("L13: %s and its cancel leave %s, not %s", x, is, was)
		}
		other := step(later, reducer.Action{Kind: reducer.Reserve, Cost: 1, Permit: reducer.Permit{Mark: clock.Never}}, r.now+1)
		before := step(later, reducer.Action{Kind: reducer.Peek, Cost: 1}, r.now+2)
		step(later, back, r.now+2)
		after := step(later, reducer.Action{Kind: reducer.Peek, Cost: 1}, r.now+2)
		if after.answer.Free < before.answer.Free || after.answer.Free > before.answer.Free+a.Cost {
			return fmt.Errorf("L13: %s: cancelling %s beside %s, %d free became %d", x, x.action, other, before.answer.Free, after.answer.Free)
		}
	}
	return r.err
}

// L13Bits: any number of asks, each refunded at its own mark, leave the state that the last
// one of them leaves, bit for bit.
func L13Bits(m machine, h history) error {
	r, c := rigged(m, h)
	steps := h.steps()
	half := len(steps) / 2
	r.play(steps[:half])
	many, once := r.subject.Clone(), r.subject.Clone()
	ask := func(s subject, cost uint32) bool {
		x := step(s, reducer.Action{Kind: reducer.TryAcquire, Cost: cost}, r.now)
		if x.answer.Verdict != reducer.Admit {
			return false
		}
		back := step(s, reducer.Action{Kind: reducer.Cancel, Cost: cost, Permit: x.answer.Permit}, r.now)
		return back.answer.Verdict == reducer.Done
	}
	for _, w := range steps[half:] {
		r.now += clock.Mark(w % 16 * (w >> 4 % 2))
		for n := range 1 + w>>8%4 {
			if ask(many, 1+uint32(w>>16+n)%capacity(c.limit)) && n > 0 {
				m.meet()
			}
		}
		last := once.Clone()
		ask(last, 1)
		ask(many, 1)
		if !bytes.Equal(last.Bytes(), many.Bytes()) {
			return fmt.Errorf("L13: %+v: at %s one ask and refund leave %x %s, many %x %s",
				c.limit, r.now, last.Bytes(), last.Text(r.now), many.Bytes(), many.Text(r.now))
		}
	}
	return r.err
}

// L21: whatever was used, as much is taken as is free and the capacity once more; the rest is
// told as dropped, and a cost of the capacity is admitted again in bounded time.
func L21(m machine, h history) error {
	r, c := rigged(m, h)
	most := uint64(capacity(c.limit))
	whole := reducer.Action{Kind: reducer.Peek, Cost: uint32(most)}
	back := 2 * time.Duration(most) * time.Duration(interval(c.limit)) // in which twice the capacity comes back
	switch c.limit.Algorithm {
	case limiter.FixedWindow, limiter.SlidingLog:
		back = c.limit.Period
	case limiter.SlidingCounter:
		back = 2 * c.limit.Period
	}
	if u := c.limit.WarmUp; u.Over > 0 {
		back = back*time.Duration(u.Factor) + u.Over
	}
	for _, w := range h.steps() {
		r.next(w)
		known := step(r.subject.Clone(), tick, r.now)
		free := uint64(step(r.subject.Clone(), reducer.Action{Kind: reducer.Peek}, r.now).answer.Free)
		if known.answer.Verdict != reducer.Done || len(r.subject.Look().waiters) > 0 {
			continue
		}
		once, twice := r.subject.Clone(), r.subject.Clone()
		use := pick(w>>40, 1, most, most+1, 2*most+1, 1<<32-1, 1<<64-1)
		x := step(once, used(once, r.now, use), r.now)
		dropped := x.answer.Dropped()
		if c.limit.Algorithm != limiter.LeakyBucket && free > 0 && dropped != use-min(use, free+most) {
			return fmt.Errorf("L21: %s, with %d of %d free before, drops %d of %d", x, free, most, dropped, use)
		}
		part := use / 2
		for _, n := range [...]uint64{part, use - part} {
			if n > 0 {
				dropped -= step(twice, used(twice, r.now, n), r.now).answer.Dropped()
			}
		}
		if dropped != 0 {
			return fmt.Errorf("L21: %s drops %d more than two halves of it do", x, dropped)
		}
		if x.answer.Dropped() > 0 {
			m.meet()
		}
		// Reservations may have taken more than the debt allows; then nothing is charged.
		if at, ok := step(once, whole, r.now).answer.RetryAt(); ok && at > r.now.Add(back) && x.answer.Dropped() < use {
			return fmt.Errorf("L21: after %s nothing of cost %d is admitted before %s", x, most, at)
		}
		if w>>56%8 == 0 {
			r.step(used(r.subject, r.now, use))
		}
	}
	return r.err
}

// outlook is all answers of a limiter now and for a while.
func outlook(s subject, now clock.Mark) (text string) {
	for _, later := range [...]clock.Mark{0, 1, 2, 5, 11, 23, 47} {
		for cost := range uint32(5) {
			x := step(s.Clone(), reducer.Action{Kind: reducer.Peek, Cost: cost}, now+later)
			at, _ := x.answer.RetryAt()
			text += fmt.Sprintf("%d at +%d: %s %s, %d free, %d; ", cost, later, x.answer.Verdict, x.answer.Reason, x.answer.Free, at)
		}
	}
	return text
}

// L14: a new state in place of a fresh one decides the same from then on. Permits
// must not outlive the state that granted them.
func L14(m machine, h history) error {
	r, c := rigged(m, h)
	for i, w := range h.steps() {
		if !r.subject.Fresh(r.now) {
			r.next(w)
			continue
		}
		if len(r.grants) > 0 {
			m.meet()
		}
		if err := r.forgotten(m, c, h.steps()[i:]); err != nil {
			return err
		}
		r.next(w)
		if len(r.waiting) == 0 && w>>60 == 0 {
			r.rest() // now and then
		}
	}
	return nil
}

// L14Unvoted is L14 for breakers before any outcome counts, where one may say that
// it is not fresh.
func L14Unvoted(m machine, h history) error {
	r, c := rigged(m, h)
	r.without = reducer.Record
	for i, w := range h.steps() {
		r.next(w)
		if len(r.grants) > 0 {
			m.meet()
		}
		if r.subject.Fresh(r.now) {
			if err := r.forgotten(m, c, h.steps()[i+1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest advances time until the subject is fresh, or for a long time.
func (r *rig) rest() {
	for until := r.now + 10_000; r.now < until && !r.subject.Fresh(r.now); {
		r.advance(r.now + 7)
	}
}

// forgotten returns an error when some steps distinguish the subject from a new one.
func (r *rig) forgotten(m machine, c config, steps history) error {
	old, fresh := newRig(r.subject.Clone(), m.kind), newRig(m.make(c), m.kind)
	for _, r2 := range [...]*rig{old, fresh} {
		r2.now, r2.callers, r2.told = r.now, r.callers, r.told
		r2.play(steps)
	}
	for i := range old.log {
		if i >= len(fresh.log) {
			return fmt.Errorf("L14: more steps of the old one")
		}
		if x, y := relative(old.log[i], 0), relative(fresh.log[i], 0); x != y {
			return fmt.Errorf("L14: %s, and of a new one %s", x, y)
		}
	}
	return nil
}

// G14: every caller that acquired was admitted, refused, dropped or cancelled, or
// waits.
func G14(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		waiting := len(r.subject.Look().waiters)
		if waiting > 0 {
			m.meet()
		}
		if r.asked != r.admitted+r.refused+r.dropped+r.left+waiting || waiting != len(r.waiting) {
			return fmt.Errorf("G14: acquired %d, admitted %d, refused %d, dropped %d, cancelled %d, %d wait (%d by effects)",
				r.asked, r.admitted, r.refused, r.dropped, r.left, waiting, len(r.waiting))
		}
	}
	return r.err
}

// G13: a duplicate or unknown end changes nothing and has the answer Stale: places,
// probes, tickets, leases.
func G13(m machine, h history) error {
	r, _ := rigged(m, h)
	for _, w := range h.steps() {
		before := len(r.log)
		r.next(w)
		for _, x := range r.log[before:] {
			a := x.action
			switch a.Kind {
			case reducer.Release, reducer.Cancel, reducer.Record:
				if c := r.subject.Look().breaker; c != nil && c.Mode != breaker.HalfOpen || m.kind == limiters {
					continue // closed breakers and limiters do not store their permits
				}
			case reducer.Leave:
			default:
				continue
			}
			m.meet()
			if err := r.ignored(a); err != nil {
				return err
			}
			a.ID, a.Generation = a.ID+1_000_003, a.Generation+5
			if err := r.ignored(a); err != nil {
				return err
			}
		}
	}
	return r.err
}

func (r *rig) ignored(a reducer.Action) error {
	late, idle := r.subject.Clone(), r.subject.Clone()
	step(idle, tick, r.now)
	x := step(late, a, r.now)
	if x.answer.Verdict != reducer.Stale || len(x.out) > 0 || !bytes.Equal(late.Bytes(), idle.Bytes()) {
		return fmt.Errorf("G13: %s, and %q became %q", x, r.subject.Text(r.now), late.Text(r.now))
	}
	return nil
}
