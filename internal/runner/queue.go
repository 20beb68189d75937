package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// queue holds the callers that wait at a cell. One timer serves all of them; it
// is stopped while there are none. The lock of the cell guards it. The cell of a key
// has one also while a lease runs or a probe is out, because the end of that releases
// the key.
type queue struct {
	waiters          []*Waiter // by the number of the caller less 1, nil for a free number
	free             []uint64  // numbers
	waiting          int
	woken, lastWoken *Waiter // whose wait is over, woken after the lock is released
	turns, base      uint64  // waits that are over so far, and before the queue was made
	timer            *time.Timer
	armed            clock.Mark // for which the timer is set, clock.Never for none, clock.Always when it fired
	ends             bool       // the timer also ends leases, and probes that do not report
	now              func() clock.Mark
	wake             func() // of the timer
}

// Waiter is a caller in the queue of a cell.
type Waiter struct {
	// Ready receives a value when the wait is over; then Effect says how. Several
	// waiters of one caller may have the same channel, of capacity 1.
	Ready  chan struct{}
	Effect reducer.Effect

	over   atomic.Bool // set when Effect is
	turn   uint64      // in the order in which the cell ended waits
	next   *Waiter     // in queue.woken
	cell   cellRef
	caller uint64
	ticket uint64
}

// Over reports whether the wait is over.
func (w *Waiter) Over() bool { return w.over.Load() }

// wakeAll wakes a waiter and those behind it whose wait is also over.
func (w *Waiter) wakeAll() {
	for w != nil {
		next := w.next // the caller may free the waiter when it is awake
		select {
		case w.Ready <- struct{}{}:
		default:
		}
		w = next
	}
}

// waiters are free waiters. Their channels are not used again: one belongs to the
// bubble of package synctest in which it was made.
var waiters = sync.Pool{New: func() any { return new(Waiter) }}

// Free makes the waiter free for reuse. A caller may call it after it has received
// from Ready, or after Leave returned true.
func (w *Waiter) Free() {
	*w = Waiter{}
	waiters.Put(w)
}

// number returns the number of the next waiter.
func (q *queue) number() uint64 {
	if q == nil {
		return 1
	}
	if last := len(q.free) - 1; last >= 0 {
		return q.free[last]
	}
	return uint64(len(q.waiters) + 1)
}

func (q *queue) add(w *Waiter) {
	q.waiting++
	if last := len(q.free) - 1; last >= 0 {
		q.free = q.free[:last]
		q.waiters[w.caller-1] = w
		return
	}
	q.waiters = append(q.waiters, w)
}

// remove takes a waiter out of the list. A queue without waiters keeps no memory of
// many.
func (q *queue) remove(w *Waiter) {
	q.waiters[w.caller-1] = nil
	q.free = append(q.free, w.caller)
	if q.waiting--; q.waiting == 0 && len(q.waiters) > 64 {
		q.waiters, q.free = nil, nil
	}
}

// deliver ends the waits that effects end, and returns the other effects.
func (q *queue) deliver(out reducer.Out) reducer.Out {
	rest := out[:0]
	for _, e := range out {
		if e.Kind != reducer.Grant && e.Kind != reducer.Drop {
			rest = append(rest, e)
			continue
		}
		if i := e.Caller - 1; i < uint64(len(q.waiters)) && q.waiters[i] != nil {
			w := q.waiters[i]
			q.remove(w)
			w.Effect = e
			q.turns++
			w.turn = q.turns
			if q.woken == nil {
				q.woken = w
			} else {
				q.lastWoken.next = w
			}
			q.lastWoken = w
			w.over.Store(true)
		}
	}
	return rest
}

// drop ends all waits.
func (q *queue) drop(out *reducer.Out, why reducer.Reason) {
	for _, w := range q.waiters {
		if w != nil {
			*out = append(*out, reducer.Effect{Kind: reducer.Drop, Reason: why, Caller: w.caller})
		}
	}
}

// takeWoken returns the first of the waiters that wakeAll has to wake.
func (q *queue) takeWoken() *Waiter {
	first := q.woken
	q.woken, q.lastWoken = nil, nil
	return first
}

// fired notes that the timer is no longer set.
func (q *queue) fired() { q.armed = clock.Always }

// rearm sets the timer to the next wake of a cell that has waiters. The mark of
// a step may be older than the present one, from which the time until then counts.
func (q *queue) rearm(c cell.Cell) {
	at := clock.Never
	if q.waiting > 0 {
		at = c.Due().Wake
	} else if q.ends {
		at = c.Due().Ends
		if at != clock.Never && breaker.CoreOf(c) != nil {
			at = at.Add(1) // a probe may report at that very mark
		}
	}
	if at == q.armed {
		return
	}
	q.armed = at
	switch {
	case at == clock.Never:
		q.timer.Stop()
	case q.timer == nil:
		q.timer = time.AfterFunc(max(0, at.Sub(q.now())), q.wake)
	default:
		q.timer.Reset(max(0, at.Sub(q.now())))
	}
}

// guarded is a cell whose lock the caller holds.
type guarded struct {
	cell   cell.Cell
	out    *reducer.Out
	queue  *queue // nil where no caller has waited
	leased bool   // leases may expire between steps

	listeners *members // nil for none
	causes    causes
}

// busy reports whether something may become due without an action of a caller.
func (g *guarded) busy() bool { return g.leased || g.queue != nil && g.queue.waiting > 0 }

// step steps the cell for a caller that does not wait.
func (g *guarded) step(a reducer.Action, now clock.Mark) reducer.Answer {
	if g.busy() {
		g.catchUp(now)
	}
	return g.act(a, now)
}

// catchUp performs what is due up to now, in order of time: waits end, leases expire,
// turns come. A timer may be late, and ends come before what a step does at the same
// mark.
func (g *guarded) catchUp(now clock.Mark) {
	// While callers wait, the timer is set for the next wake.
	if !g.leased && g.queue != nil && g.queue.armed > now {
		return
	}
	for g.busy() {
		at := g.cell.Due().Wake
		if at > now {
			return
		}
		g.cell.Step(reducer.Action{Kind: reducer.Tick}, at, g.out)
		g.serve(at)
	}
}

// serve serves the queue, and ends the waits that are over. The other effects are in
// out.
func (g *guarded) serve(now clock.Mark) {
	q := g.queue
	if q == nil {
		return
	}
	for q.waiting > 0 && g.cell.Step(reducer.Action{Kind: reducer.Serve}, now, g.out).Verdict == reducer.Done {
	}
	if len(*g.out) > 0 {
		*g.out = q.deliver(*g.out)
	}
}

// leave cancels the wait. It returns false when the wait is over already.
func (g *guarded) leave(w *Waiter, now clock.Mark) bool {
	g.catchUp(now)
	if len(*g.out) > 0 {
		*g.out = g.queue.deliver(*g.out)
	}
	if w.over.Load() {
		return false
	}
	g.queue.remove(w)
	g.cell.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.ticket}}, now, g.out)
	return true
}

// wait queues a caller whose answer is Wait. ready, or a new channel where it is
// nil, receives a value at the end of the wait.
func (q *queue) wait(at cellRef, caller, ticket uint64, ready chan struct{}) *Waiter {
	if ready == nil {
		ready = make(chan struct{}, 1)
	}
	w := waiters.Get().(*Waiter)
	w.Ready, w.cell, w.caller, w.ticket = ready, at, caller, ticket
	q.add(w)
	return w
}

// adopt returns the cell that continues the state under another configuration. The
// waiters stay.
func (g *guarded) adopt(m cell.Maker, now clock.Mark) cell.Cell {
	g.catchUp(now)
	// A breaker changes only at a step, so this step brings it to its present state.
	g.cell.Step(reducer.Action{Kind: reducer.Tick}, now, g.out)
	return cell.Adopt(m, g.cell, now, g.out)
}
