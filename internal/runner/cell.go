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

	mu      *sync.Mutex // the pipeline's for a cell that all its calls share
	waiters map[uint64]*Waiter
	callers uint64
	timer   *time.Timer
	armed   clock.Mark // for which the timer is set, clock.Never for none
	leased  bool       // leases may run out between steps
	shared  bool       // by the keys above the maximum

	now     func() clock.Mark
	changed func(b *LockedCell, e reducer.Effect) // emits a breaker's change or a lapse, nil for none
	key     string
	born    clock.Mark   // before which no permit is asked for
	used    clock.Mark   // latest of a permit that was asked for
	refs    atomic.Int64 // calls that may step it
}

// Waiter is a caller in the queue of a cell.
type Waiter struct {
	// Ready is closed when the wait is over; then Effect says how.
	Ready  chan struct{}
	Effect reducer.Effect

	cell   *LockedCell
	caller uint64
	ticket uint64
}

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
	switch a.Kind {
	case reducer.TryAcquire, reducer.Reserve:
		now = b.pass(now)
	case reducer.Cancel:
		// Another caller may have read the clock later and come first. A refund
		// must not be taken for an earlier one, which would give back more.
		now = max(now, b.used)
	}
	if b.Busy() {
		b.CatchUp(now)
	}
	answer := b.Cell.Step(a, now, &b.Out)
	if len(b.Out) == 0 && len(b.waiters) == 0 {
		b.mu.Unlock()
		return answer
	}
	b.Settle(now)
	return answer
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

// Acquire asks for a permit. The waiter is nil unless the answer is Wait.
func (b *LockedCell) Acquire(cost uint32, now clock.Mark) (reducer.Answer, *Waiter) {
	b.mu.Lock()
	now = b.pass(now)
	if b.Busy() {
		b.CatchUp(now)
	}
	b.callers++
	caller := b.callers
	answer := b.Cell.Step(reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: caller}}, now, &b.Out)
	var w *Waiter
	if answer.Verdict == reducer.Wait {
		w = &Waiter{Ready: make(chan struct{}), cell: b, caller: caller, ticket: answer.ID}
		if b.waiters == nil {
			b.waiters = map[uint64]*Waiter{}
		}
		b.waiters[caller] = w
	}
	if len(b.Out) == 0 && len(b.waiters) == 0 {
		b.mu.Unlock()
		return answer, nil
	}
	b.Settle(now)
	return answer, w
}

// Busy reports whether something may be due that no caller asks for. The caller
// holds the lock.
func (b *LockedCell) Busy() bool { return b.leased || len(b.waiters) > 0 }

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
	}
}

// serve serves the queue.
func (b *LockedCell) serve(now clock.Mark) {
	for len(b.waiters) > 0 && b.Cell.Step(reducer.Action{Kind: reducer.Serve}, now, &b.Out).Verdict == reducer.Done {
	}
}

// Leave gives up waiting. It returns false when the wait is over already; then
// Ready is closed.
func (w *Waiter) Leave(now clock.Mark) bool {
	b := w.cell
	b.mu.Lock()
	b.CatchUp(now)
	b.deliver()
	_, waits := b.waiters[w.caller]
	if waits {
		delete(b.waiters, w.caller)
		b.Cell.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.ticket}}, now, &b.Out)
	}
	b.Settle(now)
	return waits
}

// Settle serves the queue, wakes the waiters whose wait is over, sets the timer,
// unlocks, and then emits what changed.
func (b *LockedCell) Settle(now clock.Mark) { b.emit(b.settle(now)) }

// settle is Settle without the events.
func (b *LockedCell) settle(now clock.Mark) (changes []reducer.Effect) {
	defer b.mu.Unlock()
	b.serve(now)
	b.deliver()
	if b.changed != nil {
		changes = slices.Clone(b.Out)
	}
	b.Out = b.Out[:0]
	b.rearm()
	return changes
}

// emit emits changes. A listener may call back, so the caller holds no lock.
func (b *LockedCell) emit(changes []reducer.Effect) {
	for _, e := range changes {
		b.changed(b, e)
	}
}

// deliver wakes the waiters whose wait is over, and leaves what else happened in
// Out. The caller holds the lock.
func (b *LockedCell) deliver() {
	rest := b.Out[:0]
	for _, e := range b.Out {
		switch e.Kind {
		case reducer.Grant, reducer.Drop:
			if w := b.waiters[e.Caller]; w != nil {
				delete(b.waiters, e.Caller)
				w.Effect = e
				close(w.Ready)
			}
		default:
			rest = append(rest, e)
		}
	}
	b.Out = rest
}

// rearm sets the timer to the next wake of a cell that has waiters. The mark of
// a step may be older than the present one, from which the time until then counts.
func (b *LockedCell) rearm() {
	at := clock.Never
	if len(b.waiters) > 0 {
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
