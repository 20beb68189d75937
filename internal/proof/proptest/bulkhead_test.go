package proptest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of bulkheads and of the queues before limiters.

// everywhere checks a bulkhead after every step of a history.
func everywhere(m machine, h history, check func(r *rig, c config) error) error {
	r, c := rigged(m, h)
	for _, w := range h.steps() {
		r.next(w)
		if err := check(r, c); err != nil {
			return err
		}
	}
	return r.err
}

// holding is how many places are held by the records of the rig.
func (r *rig) holding() (n uint32) {
	for _, g := range r.grants {
		if !g.over && !g.lapsed {
			n += g.places()
		}
	}
	return n
}

// K1: calls in flight take at most as many places as there are.
func K1(m machine, h history) error {
	return everywhere(m, h, func(r *rig, c config) error {
		if r.holding() == c.bulkhead.Concurrent {
			m.meet()
		}
		if held := r.holding(); held > c.bulkhead.Concurrent {
			return fmt.Errorf("K1: %d of %d places are held", held, c.bulkhead.Concurrent)
		}
		return nil
	})
}

// K2: at most as many callers wait as the queue holds.
func K2(m machine, h history) error {
	return everywhere(m, h, func(r *rig, c config) error {
		if len(r.waiting) > 0 {
			m.meet()
		}
		if waiting := uint32(len(r.waiting)); waiting > c.bulkhead.Queue+c.limit.Queue {
			return fmt.Errorf("K2: %d wait in a queue of %d", waiting, c.bulkhead.Queue+c.limit.Queue)
		}
		return nil
	})
}

// K3: places are conserved: a place is held from its grant until its release or the
// end of its lease. After all releases all places are free.
func K3(m machine, h history) error {
	var last *rig
	var all config
	err := everywhere(m, h, func(r *rig, c config) error {
		last, all = r, c
		if r.holding() > 0 {
			m.meet()
		}
		if held := r.subject.Look().held; held != r.holding() {
			return fmt.Errorf("K3: %d places are held, %d by the records", held, r.holding())
		}
		return nil
	})
	if err != nil || last == nil {
		return err
	}
	for i := 0; i < len(last.grants); i++ {
		if g := &last.grants[i]; !g.over {
			g.over = true
			last.step(reducer.Action{Kind: reducer.Release, Permit: g.permit, Cost: g.cost})
			last.serve()
		}
	}
	peek := step(last.subject, reducer.Action{Kind: reducer.Peek}, last.now)
	if peek.answer.Free != all.bulkhead.Concurrent {
		return fmt.Errorf("K3: after all releases %d of %d are free", peek.answer.Free, all.bulkhead.Concurrent)
	}
	return nil
}

// K4: no caller waits while the places of the next one are free.
func K4(m machine, h history) error {
	return everywhere(m, h, func(r *rig, c config) error {
		if len(r.waiting) > 0 {
			m.meet()
		}
		look := r.subject.Look()
		if len(look.waiters) == 0 {
			return nil
		}
		next := look.waiters[0]
		if c.bulkhead.Order == limiter.Newest {
			next = look.waiters[len(look.waiters)-1]
		}
		if look.held+max(1, next.Cost) <= c.bulkhead.Concurrent {
			return fmt.Errorf("K4: %d wait, the next one for %d places, and %d of %d are held", len(r.waiting), next.Cost, look.held, c.bulkhead.Concurrent)
		}
		return nil
	})
}

// K5: the waiter that is served is the oldest one, or with newest-first the newest
// one.
func K5(m machine, h history) error {
	r, c := rigged(m, h)
	var queue []uint64             // callers, oldest first
	callers := map[uint64]uint64{} // by ticket
	forget := func(caller uint64) {
		queue = slices.DeleteFunc(queue, func(w uint64) bool { return w == caller })
	}
	seen := 0
	newestFirst := c.bulkhead.Order == limiter.Newest || c.limit.Order == limiter.Newest
	for _, w := range h.steps() {
		r.next(w)
		for ; seen < len(r.log); seen++ {
			x := r.log[seen]
			switch {
			case x.answer.Verdict == reducer.Wait:
				queue = append(queue, x.action.ID)
				callers[x.answer.ID] = x.action.ID
			case x.answer.Verdict == reducer.Admit && x.action.Kind == reducer.Acquire && x.action.Cost > 0 && len(queue) > 0 && !newestFirst:
				return fmt.Errorf("K5: %s overtakes %v", x, queue)
			}
			for _, e := range x.out {
				if e.Kind == reducer.Grant {
					if len(queue) > 1 {
						m.meet()
					}
					next := queue[0]
					if newestFirst {
						next = queue[len(queue)-1]
					}
					if e.Caller != next {
						return fmt.Errorf("K5: %s with %v waiting", x, queue)
					}
				}
				if e.Kind == reducer.Grant || e.Kind == reducer.Drop {
					forget(e.Caller)
				}
			}
			if x.action.Kind == reducer.Leave && x.answer.Verdict == reducer.Done {
				forget(callers[x.action.ID])
			}
		}
	}
	return r.err
}

// K6: a caller that left, was dropped or was served is not granted a place again.
func K6(m machine, h history) error {
	r, _ := play(m, h)
	over := map[uint64]bool{}
	callers := map[uint64]uint64{} // by ticket
	for _, x := range r.log {
		if x.answer.Verdict == reducer.Wait {
			callers[x.answer.ID] = x.action.ID
		}
		if x.action.Kind == reducer.Leave && x.answer.Verdict == reducer.Done {
			over[callers[x.action.ID]] = true
		}
		for _, e := range x.out {
			if e.Kind == reducer.Lapse {
				continue
			}
			m.meet()
			if over[e.Caller] {
				return fmt.Errorf("K6: %s, and the wait of %d is over", x, e.Caller)
			}
			over[e.Caller] = true
		}
	}
	return r.err
}

// K7: no wait is longer than the maximum wait.
func K7(m machine, h history) error {
	r, c := play(m, h)
	longest := c.bulkhead.Wait + c.limit.Wait
	if longest == 0 {
		return nil
	}
	since := map[uint64]clock.Mark{}
	for _, x := range r.log {
		if x.answer.Verdict == reducer.Wait {
			since[x.action.ID] = x.at
		}
		for _, e := range x.out {
			if began, waited := since[e.Caller]; waited && x.at > began {
				m.meet()
			}
			if began, waited := since[e.Caller]; waited && e.Kind != reducer.Lapse && x.at.Sub(began) > longest {
				return fmt.Errorf("K7: %s after %s", x, x.at.Sub(began))
			}
		}
	}
	for caller := range r.waiting {
		if waited := r.now.Sub(since[caller]); waited > longest {
			return fmt.Errorf("K7: %d still waits after %s", caller, waited)
		}
	}
	return r.err
}

// K8: a place is released once.
func K8(m machine, h history) error {
	return everywhere(m, h, func(r *rig, _ config) error {
		for _, g := range r.grants {
			if !g.over && !g.lapsed {
				continue
			}
			m.meet()
			c := r.subject.Clone()
			x := step(c, reducer.Action{Kind: reducer.Release, Permit: g.permit}, r.now)
			if x.answer.Verdict != reducer.Stale || c.Look().held != r.subject.Look().held {
				return fmt.Errorf("K8: %s a second time", x)
			}
		}
		return nil
	})
}

// K9: the greatest sizes and times neither overflow nor refuse.
func K9(m machine, h history) error {
	_, c := m.begin(h)
	c.bulkhead = bulkhead.Config{Concurrent: bulkhead.MaxConcurrent, Queue: limiter.MaxQueue,
		Wait: math.MaxInt64, Lease: time.Duration(math.MaxInt64 - h.word(1)%2)}
	s := m.make(c)
	marks := [...]clock.Mark{clock.Always, 0, 1, clock.Never - 1, clock.Never}
	for i, w := range h.steps() {
		at := marks[min(i*len(marks)/(len(h.steps())+1), len(marks)-1)]
		x := step(s, reducer.Action{Kind: pick(w, reducer.Acquire, reducer.Acquire, reducer.Tick, reducer.Peek), Permit: reducer.Permit{ID: uint64(i)}}, at)
		m.meet()
		if x.answer.Verdict == reducer.Reject || len(x.out) > 0 && at < clock.Never-1 {
			return fmt.Errorf("K9: %s", x)
		}
		if err := s.Check(); err != nil {
			return fmt.Errorf("K9: %w", err)
		}
	}
	return nil
}

// K10: 0 means 0: without a queue no caller waits, and 0 places are an error.
func K10(m machine, h history) error {
	if _, err := bulkhead.New(bulkhead.Config{}); err == nil {
		return fmt.Errorf("K10: a bulkhead without places")
	}
	_, c := m.begin(h)
	c.bulkhead.Queue, c.bulkhead.Wait = 0, 0
	r := newRig(m.make(c), m.kind)
	r.play(h.steps())
	if r.refusals(reducer.ReasonFull) > 0 {
		m.meet()
	}
	for _, x := range r.log {
		if x.answer.Verdict == reducer.Wait {
			return fmt.Errorf("K10: %s", x)
		}
	}
	if x := step(r.subject, reducer.Action{Kind: reducer.Serve}, r.now); x.answer.Verdict != reducer.Stale || len(x.out) > 0 {
		return fmt.Errorf("K10: no caller waits, and %s", x)
	}
	return r.err
}
