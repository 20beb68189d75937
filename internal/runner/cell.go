package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/reducer"
)

// LockedCell guards a cell with a mutex and manages its waiters. One timer
// serves all waiters; it is stopped while there are none.
type LockedCell struct {
	// Cell and Out, where its steps append, are guarded by Lock.
	Cell cell.Cell
	Out  reducer.Out

	mu               *sync.Mutex // the pipeline's for a cell that all its calls share
	waiters          []*Waiter   // by the number of the caller less 1, nil for a free number
	free             []uint64    // numbers
	waiting          int
	woken, lastWoken *Waiter // whose wait is over, to be woken when the mutex is unlocked
	turns            uint64  // waits that are over so far
	timer            *time.Timer
	armed            clock.Mark // for which the timer is set, clock.Never for none
	leased           bool       // leases may run out between steps
	shared           bool       // by the keys above the maximum

	now     func() clock.Mark
	changed func(b *LockedCell, e reducer.Effect) // emits a breaker's change or a lapse, nil for none
	key     string
	born    clock.Mark   // before which no permit is asked for
	used    clock.Mark   // latest of a permit that was asked for
	refs    atomic.Int64 // calls that may step it
}

// Waiter is a caller in the queue of a cell.
type Waiter struct {
	// Ready receives a value when the wait is over; then Effect says how. Several
	// waiters of one caller may have the same channel, of capacity 1.
	Ready  chan struct{}
	Effect reducer.Effect

	over   atomic.Bool // set when Effect is
	turn   uint64      // in the order in which the cell ended waits
	next   *Waiter     // in LockedCell.woken
	cell   *LockedCell
	caller uint64
	ticket uint64
}

// Over reports whether the wait is over.
func (w *Waiter) Over() bool { return w.over.Load() }

// NewLockedCell guards a cell of a mechanism alone. leased says that leases may
// run out.
func NewLockedCell(c cell.Cell, now func() clock.Mark, leased bool) *LockedCell {
	b := newLockedCell(c, new(sync.Mutex), now, nil)
	b.leased = leased
	return b
}

func newLockedCell(c cell.Cell, mu *sync.Mutex, now func() clock.Mark, changed func(*LockedCell, reducer.Effect)) *LockedCell {
	return &LockedCell{mu: mu, Cell: c, now: now, changed: changed, armed: clock.Never, born: clock.Always, used: clock.Always}
}

// Lock locks the cell. Settle or Unlock unlocks it.
func (b *LockedCell) Lock() { b.mu.Lock() }

// Unlock is Settle for a step that changed nothing for others.
func (b *LockedCell) Unlock() { b.mu.Unlock() }

// Step steps the cell for a caller that does not wait.
func (b *LockedCell) Step(a reducer.Action, now clock.Mark) reducer.Answer {
	b.mu.Lock()
	return b.step(a, now)
}

// step is Step for a caller that holds the lock, and unlocks it.
func (b *LockedCell) step(a reducer.Action, now clock.Mark) reducer.Answer {
	switch a.Kind {
	case reducer.Acquire, reducer.TryAcquire, reducer.Reserve:
		now = b.pass(now)
	}
	if b.Busy() {
		b.CatchUp(now)
	}
	answer := b.Cell.Step(a, now, &b.Out)
	b.finish(now)
	return answer
}

// finish is Settle where something may have happened to others, else Unlock.
func (b *LockedCell) finish(now clock.Mark) {
	if len(b.Out) == 0 && b.waiting == 0 && b.woken == nil {
		b.mu.Unlock()
		return
	}
	b.Settle(now)
}

// Enter asks for a permit that is there at once. It returns false and changes
// nothing where Acquire has to be asked.
func (b *LockedCell) Enter(cost uint32, now clock.Mark) (reducer.Permit, bool) {
	b.mu.Lock()
	if b.Busy() {
		b.mu.Unlock()
		return reducer.Permit{}, false
	}
	p, ok := b.Cell.Enter(cost, 0, b.pass(now))
	b.mu.Unlock()
	return p, ok
}

// Exit returns a permit after a success that concerns no other caller. It returns
// false and changes nothing where Step has to be asked.
func (b *LockedCell) Exit(p reducer.Permit, now clock.Mark) bool {
	b.mu.Lock()
	if b.Busy() {
		b.mu.Unlock()
		return false
	}
	ok := b.Cell.Exit(p, now)
	b.mu.Unlock()
	return ok
}

// pass returns the mark at which a permit is asked for.
func (b *LockedCell) pass(now clock.Mark) clock.Mark {
	now = max(now, b.born)
	b.used = max(b.used, now)
	return now
}

// catchLast moves the beginning of an attempt that is recorded at a mark which
// the cell has passed, so that its duration stays what it was.
func (b *LockedCell) catchLast(a *reducer.Action, now clock.Mark) {
	if a.Kind != reducer.Record {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if core := breaker.CoreOf(b.Cell); core != nil && core.Last > now {
		a.Mark = a.Mark.Add(core.Last.Sub(now))
	}
}

// Acquire asks for a permit. The waiter is nil unless the answer is Wait; then
// ready, or a new channel where it is nil, receives a value at the end of the wait.
func (b *LockedCell) Acquire(a reducer.Action, now clock.Mark, ready chan struct{}) (reducer.Answer, *Waiter) {
	b.mu.Lock()
	return b.acquire(a, now, ready)
}

// EnterOrAcquire is Enter, and Acquire at the present mark where that is not
// enough.
func (b *LockedCell) EnterOrAcquire(a reducer.Action, now clock.Mark) (reducer.Answer, *Waiter) {
	b.mu.Lock()
	if !b.Busy() {
		if p, ok := b.Cell.Enter(a.Cost, 0, b.pass(now)); ok {
			b.mu.Unlock()
			return reducer.Admitted(p), nil
		}
	}
	return b.acquire(a, b.now(), nil)
}

// ExitOrStep is Exit, and a step at the present mark where that is not enough.
func (b *LockedCell) ExitOrStep(a reducer.Action, now clock.Mark) reducer.Answer {
	b.mu.Lock()
	if !b.Busy() && b.Cell.Exit(a.Permit, now) {
		b.mu.Unlock()
		return reducer.Answer{Verdict: reducer.Done}
	}
	return b.step(a, b.now())
}

// acquire is Acquire for a caller that holds the lock, and unlocks it.
func (b *LockedCell) acquire(a reducer.Action, now clock.Mark, ready chan struct{}) (reducer.Answer, *Waiter) {
	now = b.pass(now)
	if b.Busy() {
		b.CatchUp(now)
	}
	a.ID = b.number()
	answer := b.Cell.Step(a, now, &b.Out)
	var w *Waiter
	if answer.Verdict == reducer.Wait {
		if ready == nil {
			ready = make(chan struct{}, 1)
		}
		w = &Waiter{Ready: ready, cell: b, caller: a.ID, ticket: answer.ID}
		b.add(w)
	}
	b.finish(now)
	return answer, w
}

// number returns the number of the next waiter.
func (b *LockedCell) number() uint64 {
	if last := len(b.free) - 1; last >= 0 {
		return b.free[last]
	}
	return uint64(len(b.waiters) + 1)
}

func (b *LockedCell) add(w *Waiter) {
	b.waiting++
	if last := len(b.free) - 1; last >= 0 {
		b.free = b.free[:last]
		b.waiters[w.caller-1] = w
		return
	}
	b.waiters = append(b.waiters, w)
}

// remove takes a waiter out of the list. A cell without waiters keeps no memory of
// many.
func (b *LockedCell) remove(w *Waiter) {
	b.waiters[w.caller-1] = nil
	b.free = append(b.free, w.caller)
	if b.waiting--; b.waiting == 0 && len(b.waiters) > 64 {
		b.waiters, b.free = nil, nil
	}
}

// Busy reports whether something may be due that no caller asks for. The caller
// holds the lock.
func (b *LockedCell) Busy() bool { return b.leased || b.waiting > 0 }

// CatchUp does what is due up to now, in order of time: waits end, leases run
// out, turns come. A timer may be late, and ends come before what a step does
// at the same mark. The caller holds the lock.
func (b *LockedCell) CatchUp(now clock.Mark) {
	for b.Busy() {
		at := b.Cell.Wake()
		if at > now {
			return
		}
		b.Cell.Step(reducer.Action{Kind: reducer.Tick}, at, &b.Out)
		b.serve(at)
		b.deliver()
	}
}

// serve serves the queue.
func (b *LockedCell) serve(now clock.Mark) {
	for b.waiting > 0 && b.Cell.Step(reducer.Action{Kind: reducer.Serve}, now, &b.Out).Verdict == reducer.Done {
	}
}

// Leave gives up waiting. It returns false when the wait is over already; then
// Effect says how.
func (w *Waiter) Leave(now clock.Mark) bool {
	b := w.cell
	b.mu.Lock()
	b.CatchUp(now)
	b.deliver()
	waits := !w.over.Load()
	if waits {
		b.remove(w)
		b.Cell.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.ticket}}, now, &b.Out)
	}
	b.Settle(now)
	return waits
}

// Settle serves the queue, sets the timer, unlocks, and then wakes the waiters
// whose wait is over and emits what changed.
func (b *LockedCell) Settle(now clock.Mark) { b.emit(b.settle(now)) }

// settle is Settle without the events.
func (b *LockedCell) settle(now clock.Mark) (changes []reducer.Effect) {
	b.serve(now)
	b.deliver()
	if b.changed != nil && len(b.Out) > 0 {
		changes = slices.Clone(b.Out)
	}
	b.Out = b.Out[:0]
	b.rearm()
	woken := b.woken
	b.woken, b.lastWoken = nil, nil
	b.mu.Unlock()
	for w := woken; w != nil; w = w.next {
		select {
		case w.Ready <- struct{}{}:
		default:
		}
	}
	return changes
}

// emit emits changes. A listener may call back, so the caller holds no lock.
func (b *LockedCell) emit(changes []reducer.Effect) {
	for _, e := range changes {
		b.changed(b, e)
	}
}

// deliver ends the waits that are over, and leaves what else happened in Out. The
// caller holds the lock.
func (b *LockedCell) deliver() {
	if len(b.Out) == 0 {
		return
	}
	rest := b.Out[:0]
	for _, e := range b.Out {
		if e.Kind != reducer.Grant && e.Kind != reducer.Drop {
			rest = append(rest, e)
			continue
		}
		if i := e.Caller - 1; i < uint64(len(b.waiters)) && b.waiters[i] != nil {
			w := b.waiters[i]
			b.remove(w)
			w.Effect = e
			b.turns++
			w.turn = b.turns
			if b.woken == nil {
				b.woken = w
			} else {
				b.lastWoken.next = w
			}
			b.lastWoken = w
			w.over.Store(true)
		}
	}
	b.Out = rest
}

// rearm sets the timer to the next wake of a cell that has waiters. The mark of
// a step may be older than the present one, from which the time until then counts.
func (b *LockedCell) rearm() {
	at := clock.Never
	if b.waiting > 0 {
		at = b.Cell.Wake()
	}
	if at == b.armed {
		return
	}
	b.armed = at
	switch {
	case at == clock.Never:
		b.timer.Stop()
	case b.timer == nil:
		b.timer = time.AfterFunc(max(0, at.Sub(b.now())), b.wake)
	default:
		b.timer.Reset(max(0, at.Sub(b.now())))
	}
}

// wake is called by the timer: waits end, turns come, leases run out.
func (b *LockedCell) wake() {
	b.mu.Lock()
	b.armed = clock.Never
	now := b.now()
	b.CatchUp(now)
	b.Settle(now)
}

// Adopt replaces the cell by one of another configuration.
func (b *LockedCell) Adopt(m cell.Maker, leased bool) { b.emit(b.adopt(m, leased)) }

// adopt is Adopt without the events.
func (b *LockedCell) adopt(m cell.Maker, leased bool) []reducer.Effect {
	b.mu.Lock()
	now := b.now()
	b.CatchUp(now)
	// A breaker changes when it is asked, and is to be what it is now.
	b.Cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.Out)
	b.Cell = m.Adopt(b.Cell, now, &b.Out)
	// Places that were given under a lease keep its end.
	b.leased = b.leased || leased
	return b.settle(now)
}
