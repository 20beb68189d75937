package sluice

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// box serialises the steps of a cell by a mutex, and looks after who waits.
// One timer serves all waiters; it stands still while nobody waits.
type box struct {
	mu      sync.Mutex
	cell    cell.Cell
	out     reducer.Out
	waiters map[uint64]*waiter
	callers uint64
	timer   *time.Timer
	leased  bool // leases run out between steps

	now     func() clock.Mark
	changed func(b *box, e reducer.Effect) // tells of a breaker's change
	key     string
	used    clock.Mark   // of the last acquire
	refs    atomic.Int64 // calls that may step it
}

// waiter is a caller in the queue of a box. effect may be read when ready is
// closed.
type waiter struct {
	ready  chan struct{}
	effect reducer.Effect
	box    *box
	caller uint64
	ticket uint64
}

func newBox(c cell.Cell, now func() clock.Mark, changed func(*box, reducer.Effect)) *box {
	return &box{cell: c, now: now, changed: changed}
}

// step steps the cell for a caller that does not wait.
func (b *box) step(a reducer.Action, now clock.Mark) reducer.Answer {
	b.mu.Lock()
	answer := b.cell.Step(a, now, &b.out)
	if len(b.out) == 0 && len(b.waiters) == 0 {
		b.mu.Unlock()
		return answer
	}
	b.settle(now)
	return answer
}

// acquire asks for a permit. The waiter is nil unless the answer is Wait.
func (b *box) acquire(cost uint32, now clock.Mark) (reducer.Answer, *waiter) {
	b.mu.Lock()
	b.lapse(now)
	b.used = now
	b.callers++
	caller := b.callers
	answer := b.cell.Step(reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: caller}}, now, &b.out)
	var w *waiter
	if answer.Verdict == reducer.Wait {
		w = &waiter{ready: make(chan struct{}), box: b, caller: caller, ticket: answer.ID}
		if b.waiters == nil {
			b.waiters = map[uint64]*waiter{}
		}
		b.waiters[caller] = w
	}
	if len(b.out) == 0 && len(b.waiters) == 0 {
		b.mu.Unlock()
		return answer, nil
	}
	b.settle(now)
	return answer, w
}

// lapse ends the leases that are over. The caller holds the mutex.
func (b *box) lapse(now clock.Mark) {
	if b.leased && b.cell.Ends() <= now {
		b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
	}
}

// tick is lapse for a caller without the mutex.
func (b *box) tick(now clock.Mark) {
	if b.leased {
		b.mu.Lock()
		b.lapse(now)
		b.settle(now)
	}
}

// leave gives up waiting. It returns false when the wait is over already; then
// ready is closed.
func (w *waiter) leave(now clock.Mark) bool {
	b := w.box
	b.mu.Lock()
	_, waits := b.waiters[w.caller]
	if waits {
		delete(b.waiters, w.caller)
		b.cell.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.ticket}}, now, &b.out)
	}
	b.settle(now)
	return waits
}

// settle serves the queue, tells the waiters, sets the timer and unlocks.
func (b *box) settle(now clock.Mark) {
	for len(b.waiters) > 0 && b.cell.Step(reducer.Action{Kind: reducer.Serve}, now, &b.out).Verdict == reducer.Done {
	}
	var changes []reducer.Effect
	for _, e := range b.out {
		switch e.Kind {
		case reducer.Grant, reducer.Drop:
			if w := b.waiters[e.Caller]; w != nil {
				delete(b.waiters, e.Caller)
				w.effect = e
				close(w.ready)
			}
		case reducer.Change:
			changes = append(changes, e)
		}
	}
	b.out = b.out[:0]
	b.rearm(now)
	b.mu.Unlock()
	// A listener may call back, so it is told when nothing is held.
	for _, e := range changes {
		b.changed(b, e)
	}
}

// rearm sets the timer to the next wake of a cell at which somebody waits.
func (b *box) rearm(now clock.Mark) {
	if len(b.waiters) == 0 {
		if b.timer != nil {
			b.timer.Stop()
		}
		return
	}
	at := b.cell.Wake()
	if at == clock.Never {
		return
	}
	after := max(0, at.Sub(now))
	if b.timer == nil {
		b.timer = time.AfterFunc(after, b.wake)
		return
	}
	b.timer.Reset(after)
}

// wake is the timer's: waits end, turns come, leases run out.
func (b *box) wake() {
	b.mu.Lock()
	now := b.now()
	b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
	b.settle(now)
}

// adopt puts a cell of another configuration in place.
func (b *box) adopt(m cell.Maker, leased bool) {
	b.mu.Lock()
	now := b.now()
	b.cell = m.Adopt(b.cell, now, &b.out)
	b.leased = leased
	b.settle(now)
}

// held is what an attempt keeps beyond its end.
type held struct {
	attempt *attempt
	mu      sync.Mutex
	places  []kept
	freed   bool
	ended   bool
}

// kept is the permit of a bulkhead.
type kept struct {
	box    *box
	action reducer.Action
}

// keep takes over a place, or gives it back when the holder has let go already.
func (h *held) keep(k kept, now clock.Mark) {
	h.mu.Lock()
	freed := h.freed
	if !freed {
		h.places = append(h.places, k)
	}
	h.mu.Unlock()
	if freed {
		k.box.step(k.action, now)
	}
}

// finish says that the attempt is over; its context lives until release.
func (h *held) finish() {
	h.mu.Lock()
	h.ended = true
	freed := h.freed
	h.mu.Unlock()
	if freed {
		h.attempt.end()
	}
}

func (h *held) release() {
	h.mu.Lock()
	places := h.places
	h.places = nil
	ended := h.ended && !h.freed
	h.freed = true
	h.mu.Unlock()
	for _, k := range places {
		k.box.step(k.action, k.box.now())
	}
	if ended {
		h.attempt.end()
	}
}
