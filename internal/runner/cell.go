package runner

import (
	"sync"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// LockedCell guards a cell with a mutex and manages its waiters.
type LockedCell struct {
	// Cell and Out, where its steps append, are guarded by Lock.
	Cell cell.Cell
	Out  reducer.Out

	mu      *sync.Mutex // the pipeline's for a cell that all its calls share
	queue   queue
	leased  bool         // leases may run out between steps
	changed func(change) // emits a breaker's change or a lapse, nil for none
	heard   *members     // that hear of its events, nil for none
	causes  causes
	since   clock.Mark // of the latest change of a breaker, clock.Always before

	// What a breaker step has measured, while the lock was held.
	measured uint64
	took     time.Duration
}

// NewLockedCell guards a cell of a mechanism alone. leased says that leases may
// run out; emit emits what runs out, nil for no events.
func NewLockedCell(c cell.Cell, now func() clock.Mark, leased bool, emit func(api.Event)) *LockedCell {
	var changed func(change)
	if emit != nil {
		changed = func(x change) { emit(x.event()) }
	}
	return newLockedCell(c, new(sync.Mutex), now, leased, nil, changed)
}

func newLockedCell(c cell.Cell, mu *sync.Mutex, now func() clock.Mark, leased bool, heard *members, changed func(change)) *LockedCell {
	b := &LockedCell{mu: mu, Cell: c, leased: leased, heard: heard, changed: changed, since: clock.Always}
	b.queue.now, b.queue.wake, b.queue.armed = now, b.wake, clock.Never
	return b
}

// Lock locks the cell. Settle or Unlock unlocks it.
func (b *LockedCell) Lock() { b.mu.Lock() }

// Unlock is Settle for a step that changed nothing for others.
func (b *LockedCell) Unlock() { b.mu.Unlock() }

// guarded is the cell for a caller that holds the lock.
func (b *LockedCell) guarded() guarded {
	return guarded{cell: b.Cell, out: &b.Out, queue: &b.queue, leased: b.leased, listeners: b.heard}
}

// Busy reports whether time alone may change the state of others. The caller
// holds the lock.
func (b *LockedCell) Busy() bool { return b.leased || b.queue.waiting > 0 }

// Step steps the cell for a caller that does not wait.
func (b *LockedCell) Step(a reducer.Action, now clock.Mark) reducer.Answer {
	b.mu.Lock()
	return b.step(a, now)
}

// step is Step for a caller that holds the lock, and unlocks it.
func (b *LockedCell) step(a reducer.Action, now clock.Mark) reducer.Answer {
	if b.Busy() {
		b.CatchUp(now)
	}
	var answer reducer.Answer
	switch a.Kind {
	case reducer.Record, reducer.Transition, reducer.Reset:
		g := b.guarded()
		answer = g.act(a, now)
		b.causes = g.causes
		if a.Kind == reducer.Record && answer.Verdict == reducer.Done {
			b.measure(now.Sub(a.Mark))
		}
	default:
		answer = b.Cell.Step(a, now, &b.Out)
	}
	b.finish(now)
	return answer
}

// measure adds the time that an attempt took. The caller holds the lock.
func (b *LockedCell) measure(d time.Duration) {
	b.measured++
	b.took += max(0, d)
}

// peek is Step for two questions that change nothing.
func (b *LockedCell) peek(one, other reducer.Action, now clock.Mark) (first, second reducer.Answer) {
	b.mu.Lock()
	if b.Busy() {
		b.CatchUp(now)
	}
	first, second = b.Cell.Step(one, now, &b.Out), b.Cell.Step(other, now, &b.Out)
	b.finish(now)
	return first, second
}

// finish is Settle where something may have happened to others, else Unlock.
func (b *LockedCell) finish(now clock.Mark) {
	if len(b.Out) == 0 && b.queue.waiting == 0 && b.queue.woken == nil {
		b.mu.Unlock()
		return
	}
	b.Settle(now)
}

// Enter acquires a permit that is free at once. It returns false and changes
// nothing where the caller must use Acquire.
func (b *LockedCell) Enter(cost uint32, deadline, now clock.Mark) (p reducer.Permit, ok bool) {
	b.mu.Lock()
	if !b.Busy() {
		p, ok = b.Cell.Enter(cost, 0, deadline, now)
	}
	b.mu.Unlock()
	return p, ok
}

// Exit returns a permit after a success that concerns no other caller. It returns
// false and changes nothing where the caller must use Step.
func (b *LockedCell) Exit(p reducer.Permit, now clock.Mark) bool {
	b.mu.Lock()
	ok := !b.Busy() && b.Cell.Exit(p, now)
	b.mu.Unlock()
	return ok
}

// Acquire asks for a permit. The waiter is nil unless the answer is Wait; then
// ready, or a new channel where it is nil, receives a value at the end of the wait.
func (b *LockedCell) Acquire(a reducer.Action, now clock.Mark, ready chan struct{}) (reducer.Answer, *Waiter) {
	b.mu.Lock()
	return b.acquire(a, now, ready)
}

// EnterOrAcquire is Enter, and Acquire at the present mark where that is not
// enough: then answer says how it went. The permit is returned by itself, because an
// answer that is copied waits for its bytes to be stored.
func (b *LockedCell) EnterOrAcquire(cost uint32, now clock.Mark) (p reducer.Permit, ok bool, answer reducer.Answer, w *Waiter) {
	b.mu.Lock()
	if !b.Busy() {
		if p, ok = b.Cell.Enter(cost, 0, clock.Never, now); ok {
			b.mu.Unlock()
			return p, true, answer, nil
		}
	}
	answer, w = b.acquire(reducer.Action{Kind: reducer.Acquire, Cost: cost}, b.queue.now(), nil)
	return answer.Permit, answer.Verdict == reducer.Admit, answer, w
}

// ExitOrRelease is Exit, and a Release at the present mark where that is not enough.
// It returns false where the permit was not held.
func (b *LockedCell) ExitOrRelease(p reducer.Permit, now clock.Mark) bool {
	b.mu.Lock()
	if !b.Busy() && b.Cell.Exit(p, now) {
		b.mu.Unlock()
		return true
	}
	return b.step(reducer.Action{Kind: reducer.Release, Permit: p}, b.queue.now()).Verdict == reducer.Done
}

// acquire is Acquire for a caller that holds the lock, and unlocks it.
func (b *LockedCell) acquire(a reducer.Action, now clock.Mark, ready chan struct{}) (answer reducer.Answer, w *Waiter) {
	if b.Busy() {
		b.CatchUp(now)
	}
	a.ID = b.queue.number()
	if answer = b.Cell.Step(a, now, &b.Out); answer.Verdict == reducer.Wait {
		w = b.queue.wait(cellRef{one: b}, a.ID, answer.ID, ready)
	}
	b.finish(now)
	return answer, w
}

// CatchUp does what is due up to now. The caller holds the lock.
func (b *LockedCell) CatchUp(now clock.Mark) {
	g := b.guarded()
	g.catchUp(now)
}

// leave is Waiter.Leave.
func (b *LockedCell) leave(w *Waiter, now clock.Mark) bool {
	b.mu.Lock()
	g := b.guarded()
	ok := g.leave(w, now)
	b.Settle(now)
	return ok
}

// Settle serves the queue, sets the timer, unlocks, and then wakes the waiters
// whose wait is over and emits what changed.
func (b *LockedCell) Settle(now clock.Mark) { b.emit(b.settle(now)) }

// settle is Settle without the events.
func (b *LockedCell) settle(now clock.Mark) (changes []change) {
	changes, woken := b.collect(now)
	woken.wakeAll()
	return changes
}

// collect is settle without waking the waiters whose wait is over.
func (b *LockedCell) collect(now clock.Mark) (changes []change, woken *Waiter) {
	g := b.guarded()
	g.serve(now)
	if b.changed != nil && len(b.Out) > 0 {
		changes = b.causes.take(b.Out)
		if last := changes[len(changes)-1]; last.Kind == reducer.Change {
			b.since = last.Permit.Mark
		}
	}
	b.Out = b.Out[:0]
	b.queue.rearm(b.Cell)
	woken = b.queue.takeWoken()
	b.mu.Unlock()
	return changes, woken
}

// emit emits changes. A listener may call back, so the caller holds no lock.
func (b *LockedCell) emit(changes []change) {
	for _, e := range changes {
		b.changed(e)
	}
}

// wake is called by the timer: waits end, turns come, leases run out.
func (b *LockedCell) wake() {
	b.mu.Lock()
	b.queue.fired()
	now := b.queue.now()
	b.CatchUp(now)
	b.Settle(now)
}

// Adopt replaces the cell by one of another configuration.
func (b *LockedCell) Adopt(m cell.Maker, leased bool) {
	changes, woken := b.adopt(m, leased)
	woken.wakeAll()
	b.emit(changes)
}

// adopt is Adopt without the events, and without waking the waiters whose wait is
// over.
func (b *LockedCell) adopt(m cell.Maker, leased bool) (changes []change, woken *Waiter) {
	b.mu.Lock()
	now := b.queue.now()
	g := b.guarded()
	b.Cell = g.adopt(m, now)
	// Places that were given under a lease keep its end.
	b.leased = b.leased || leased
	return b.collect(now)
}
