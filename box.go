package sluice

import (
	"slices"
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
	mu      *sync.Mutex // the pipeline's for a cell that all its calls share
	cell    cell.Cell
	out     reducer.Out
	waiters map[uint64]*waiter
	callers uint64
	timer   *time.Timer
	armed   clock.Mark // for which the timer is set, clock.Never for none
	leased  bool       // leases may run out between steps
	shared  bool       // by the keys above the maximum

	now     func() clock.Mark
	changed func(b *box, e reducer.Effect) // tells of a breaker's change or a lapse, nil for nobody
	key     string
	born    clock.Mark   // before which no permit is asked for
	used    clock.Mark   // latest of a permit that was asked for
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

func newBox(c cell.Cell, mu *sync.Mutex, now func() clock.Mark, changed func(*box, reducer.Effect)) *box {
	return &box{mu: mu, cell: c, now: now, changed: changed, armed: clock.Never, born: clock.Always, used: clock.Always}
}

// step steps the cell for a caller that does not wait.
func (b *box) step(a reducer.Action, now clock.Mark) reducer.Answer {
	b.mu.Lock()
	switch a.Kind {
	case reducer.TryAcquire, reducer.Reserve:
		now = b.pass(now)
	case reducer.Cancel:
		// Another caller may have read the clock later and come first. A refund
		// must not be taken for an earlier one, which would give back more.
		now = max(now, b.used)
	}
	if b.busy() {
		b.catchUp(now)
	}
	answer := b.cell.Step(a, now, &b.out)
	if len(b.out) == 0 && len(b.waiters) == 0 {
		b.mu.Unlock()
		return answer
	}
	b.settle(now)
	return answer
}

// enter asks for a permit that is there at once; false when acquire is to be
// asked.
func (b *box) enter(cost uint32, now clock.Mark) (reducer.Permit, bool) {
	b.mu.Lock()
	if b.busy() {
		b.mu.Unlock()
		return reducer.Permit{}, false
	}
	p, ok := b.cell.Enter(cost, 0, b.pass(now))
	b.mu.Unlock()
	return p, ok
}

// exit gives a permit back after a success with nothing to tell anybody; false
// when step is to be asked.
func (b *box) exit(p reducer.Permit, now clock.Mark) bool {
	b.mu.Lock()
	if b.busy() {
		b.mu.Unlock()
		return false
	}
	ok := b.cell.Exit(p, now)
	b.mu.Unlock()
	return ok
}

// pass lets time pass for a permit that is asked for.
func (b *box) pass(now clock.Mark) clock.Mark {
	now = max(now, b.born)
	b.used = max(b.used, now)
	return now
}

// catchLast moves the beginning of an attempt that is recorded at a mark which
// the cell has passed, so that its duration stays what it was.
func (b *box) catchLast(a *reducer.Action, now clock.Mark) {
	if a.Kind != reducer.Record {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if core := cell.Breaker(b.cell); core != nil && core.Last > now {
		a.Mark = a.Mark.Add(core.Last.Sub(now))
	}
}

// acquire asks for a permit. The waiter is nil unless the answer is Wait.
func (b *box) acquire(cost uint32, now clock.Mark) (reducer.Answer, *waiter) {
	b.mu.Lock()
	now = b.pass(now)
	if b.busy() {
		b.catchUp(now)
	}
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

// busy reports whether anything may be due that nobody has asked for.
func (b *box) busy() bool { return b.leased || len(b.waiters) > 0 }

// catchUp does what is due up to now, in order of time: waits end, leases run
// out, turns come. A timer may be late, and ends come before what a step does
// at the same mark. The caller holds the mutex.
func (b *box) catchUp(now clock.Mark) {
	for b.busy() {
		at := b.cell.Wake()
		if at > now {
			return
		}
		b.cell.Step(reducer.Action{Kind: reducer.Tick}, at, &b.out)
		b.serve(at)
	}
}

// serve serves the queue.
func (b *box) serve(now clock.Mark) {
	for len(b.waiters) > 0 && b.cell.Step(reducer.Action{Kind: reducer.Serve}, now, &b.out).Verdict == reducer.Done {
	}
}

// leave gives up waiting. It returns false when the wait is over already; then
// ready is closed.
func (w *waiter) leave(now clock.Mark) bool {
	b := w.box
	b.mu.Lock()
	b.catchUp(now)
	b.deliver()
	_, waits := b.waiters[w.caller]
	if waits {
		delete(b.waiters, w.caller)
		b.cell.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: w.ticket}}, now, &b.out)
	}
	b.settle(now)
	return waits
}

// settle serves the queue, tells the waiters, sets the timer, unlocks, and then
// tells of what changed.
func (b *box) settle(now clock.Mark) { b.tell(b.quiet(now)) }

// quiet is settle without the telling.
func (b *box) quiet(now clock.Mark) (changes []reducer.Effect) {
	defer b.mu.Unlock()
	b.serve(now)
	b.deliver()
	if b.changed != nil {
		changes = slices.Clone(b.out)
	}
	b.out = b.out[:0]
	b.rearm()
	return changes
}

// tell tells of changes. A listener may call back, so nothing is held.
func (b *box) tell(changes []reducer.Effect) {
	for _, e := range changes {
		b.changed(b, e)
	}
}

// deliver tells the waiters what became of them, and leaves what else happened
// in out. The caller holds the mutex.
func (b *box) deliver() {
	rest := b.out[:0]
	for _, e := range b.out {
		switch e.Kind {
		case reducer.Grant, reducer.Drop:
			if w := b.waiters[e.Caller]; w != nil {
				delete(b.waiters, e.Caller)
				w.effect = e
				close(w.ready)
			}
		default:
			rest = append(rest, e)
		}
	}
	b.out = rest
}

// rearm sets the timer to the next wake of a cell at which somebody waits. The
// mark of a step may lie behind, so that the time until then counts from now.
func (b *box) rearm() {
	at := clock.Never
	if len(b.waiters) > 0 {
		at = b.cell.Wake()
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

// wake is the timer's: waits end, turns come, leases run out.
func (b *box) wake() {
	b.mu.Lock()
	b.armed = clock.Never
	now := b.now()
	b.catchUp(now)
	b.settle(now)
}

// adopt puts a cell of another configuration in place, and returns what there
// is to tell.
func (b *box) adopt(m cell.Maker, leased bool) []reducer.Effect {
	b.mu.Lock()
	now := b.now()
	b.catchUp(now)
	// A breaker changes when it is asked, and is to be what it is now.
	b.cell.Step(reducer.Action{Kind: reducer.Tick}, now, &b.out)
	b.cell = m.Adopt(b.cell, now, &b.out)
	// Places that were given under a lease keep its end.
	b.leased = b.leased || leased
	return b.quiet(now)
}
