package runner

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// keyBytes is the average memory that a step allows for each of its keys, beside the
// cells: clients may choose keys as long as a header.
const keyBytes = 512

// leastBytes is the bound of the memory of a step with few keys.
const leastBytes = 1 << 20

// cellsOf returns the keyed cells of step i of a plan. most bounds the keys, 0 for
// none.
func cellsOf(plan *pipeline.Plan, i, most int) keyedcells.Config {
	config := keyedcells.Config{Config: plan.Keys(i), Maker: plan.Maker(i), Names: true}
	if most > 0 {
		config.Keys = min(config.Keys, uint32(min(most, keyed.MaxKeys)))
	}
	// A state takes about as much memory as its encoding.
	config.CellBytes = uint32(64 + len(config.Maker.New(0).AppendState(nil)))
	if config.Bucket = limiter.OneWord(config.Maker); config.Bucket != nil {
		config.CellBytes = 0
	}
	config.Bytes = max(leastBytes, uint64(config.Keys)*(uint64(config.CellBytes)+keyBytes))
	return config
}

// keyedCell is the cell of a key, whose shard is locked.
type keyedCell struct {
	guarded
	ref  keyedcells.Ref
	step *StepCells
	full bool // the use of the key was the first one that found the step full

	evicts bool // keys were evicted whose events are not emitted yet
}

func (c *StepCells) open(r keyedcells.Ref) keyedCell { return c.openAs(r, r.Cell(), r.Out()) }

// openAs is open for a cell that Ref.Cell does not return: the old one during
// Configure.
func (c *StepCells) openAs(r keyedcells.Ref, at cell.Cell, out *reducer.Out) keyedCell {
	x := keyedCell{guarded: guarded{cell: at, out: out, leased: c.leased.Load(), listeners: &c.members}, ref: r, step: c}
	if side := r.Side(); side != nil {
		x.queue = side.(*queue)
	}
	return x
}

// use returns the cell of a key and makes the key the most recently used. The caller
// steps it at the mark at.
func (c *StepCells) use(key string, now clock.Mark) (x keyedCell, at clock.Mark) {
	r, at, how := c.cells.Use(key, now)
	return c.used(r, how), at
}

// used is open for a cell that Cells.Use returned.
func (c *StepCells) used(r keyedcells.Ref, how keyed.Use) keyedCell {
	x := c.open(r)
	if crowded(how) {
		x.full = !c.full.Swap(true)
	}
	x.evicts = c.cells.Evicts()
	return x
}

// crowded reports whether the use of a key found its step full.
func crowded(how keyed.Use) bool { return how == keyed.Evicted || how == keyed.Shared }

// alone reports whether a step of a cell that takes or gives back at once does nothing
// else: no call waits there, and nothing runs out.
func (c *StepCells) alone(r keyedcells.Ref) bool { return !c.leased.Load() && r.Side() == nil }

// resolve returns the cell of a handle, and false where its key was evicted.
func (c *StepCells) resolve(h keyed.Handle) (x keyedCell, ok bool) {
	r, ok := c.cells.Resolve(h)
	if ok {
		x = c.open(r)
	}
	return x, ok
}

// do steps the cell for a caller that does not wait, and unlocks it.
func (x *keyedCell) do(a reducer.Action, now clock.Mark) reducer.Answer {
	answer := x.guarded.step(a, now)
	x.ref.Answered(&a, &answer)
	x.settle(now)
	return answer
}

// settle serves the queue, sets the timer, unlocks, and then wakes the waiters
// whose wait is over and emits what changed.
func (x *keyedCell) settle(now clock.Mark) { x.unlocked(now).emit() }

// unlocked is settle without the events, which it returns.
func (x *keyedCell) unlocked(now clock.Mark) cellEvents {
	changes, woken := x.collect(now)
	events := x.events(changes, now)
	x.ref.Unlock()
	woken.wakeAll()
	return events
}

// events returns the events, which are emitted when no lock is held.
func (x *keyedCell) events(changes []change, now clock.Mark) (e cellEvents) {
	if len(changes) > 0 || x.full || x.evicts {
		e = cellEvents{step: x.step, key: x.ref.Key(), changes: changes, full: x.full, evicts: x.evicts, now: now}
	}
	return e
}

// collect is the part of settle that needs the lock.
func (x *keyedCell) collect(now clock.Mark) (changes []change, woken *Waiter) {
	x.serve(now)
	if len(*x.out) > 0 {
		changes = x.causes.take(*x.out)
		*x.out = (*x.out)[:0]
	}
	if x.queue == nil && x.cell.Due().Ends != clock.Never {
		x.addQueue()
	}
	q := x.queue
	if q == nil {
		return changes, nil
	}
	q.rearm(x.cell)
	woken = q.takeWoken()
	if q.waiting == 0 && q.armed == clock.Never {
		// A later queue of the cell counts its turns from there.
		x.step.turns.Add(q.turns - q.base)
		x.ref.SetSide(nil)
	}
	return changes, woken
}

// enter is LockedCell.Enter for a key.
func (c *StepCells) enter(key string, cost uint32, deadline, now clock.Mark) (p reducer.Permit, h keyed.Handle, ok bool) {
	if _, blocked := c.blocks.find(key, now); blocked {
		return p, h, false
	}
	x, at := c.use(key, now)
	if !x.busy() {
		p, ok = x.cell.Enter(cost, 0, deadline, at)
	}
	h = x.ref.Handle()
	events := x.events(nil, at)
	x.ref.Unlock()
	events.emit()
	return p, h, ok
}

// exit is LockedCell.Exit for the cell of a handle. It does nothing for an evicted
// cell.
func (c *StepCells) exit(h keyed.Handle, p reducer.Permit, now clock.Mark) bool {
	r, ok := c.cells.Resolve(h)
	if !ok {
		return true
	}
	if c.alone(r) {
		ok = r.Cell().Exit(p, now)
	} else {
		x := c.open(r)
		ok = !x.busy() && x.cell.Exit(p, now)
	}
	r.Unlock()
	return ok
}

// ask steps the cell of a key, which is a use of the key.
func (c *StepCells) ask(key string, a reducer.Action, now clock.Mark) (reducer.Answer, keyed.Handle) {
	x, at := c.use(key, now)
	h := x.ref.Handle()
	return x.do(x.ref.Acquire(a), at), h
}

// acquire is LockedCell.Acquire for a key. The question is one use of the key
// together with the one of enter.
func (c *StepCells) acquire(ref *keyRef, a reducer.Action, now clock.Mark, ready chan struct{}) (answer reducer.Answer, w *Waiter) {
	if answer, blocked := c.blocks.answer(ref.key, now); blocked {
		ref.used = false
		return answer, nil
	}
	x, at, used := keyedCell{}, now, false
	if ref.used {
		ref.used = false
		x, used = c.resolve(ref.handle)
	}
	if !used {
		x, at = c.use(ref.key, now)
	}
	x.catchUp(at)
	a.ID = x.queue.number()
	a = x.ref.Acquire(a)
	answer, ref.handle = x.cell.Step(a, at, x.out), x.ref.Handle()
	x.ref.Answered(&a, &answer)
	if answer.Verdict == reducer.Wait {
		if x.queue == nil {
			x.addQueue()
		}
		w = x.queue.wait(cellRef{step: c, handle: ref.handle}, a.ID, answer.ID, ready)
	}
	x.settle(at)
	return answer, w
}

// peek peeks at the cell that a key has, or would have, without using the key.
func (c *StepCells) peek(key string, m cell.Maker, a reducer.Action, now clock.Mark) reducer.Answer {
	r, ok := c.cells.Find(key)
	if !ok {
		return m.New(now).Step(a, now, new(reducer.Out))
	}
	x := c.open(r)
	return x.do(a, now)
}

// leave is Waiter.Leave.
func (c *StepCells) leave(w *Waiter, now clock.Mark) bool {
	x, ok := c.resolve(w.cell.handle)
	if !ok || x.queue == nil {
		if ok {
			x.ref.Unlock()
		}
		return false // the wait is over
	}
	left := x.guarded.leave(w, now)
	x.settle(now)
	return left
}

// addQueue gives the cell a queue.
func (x *keyedCell) addQueue() {
	c, h, base := x.step, x.ref.Handle(), x.step.turns.Load()
	x.queue = &queue{turns: base, base: base, ends: true, armed: clock.Never, now: c.host.Now, wake: func() { c.wake(h) }}
	x.ref.SetSide(x.queue)
}

// wake is called by the timer of a queue.
func (c *StepCells) wake(h keyed.Handle) {
	x, ok := c.resolve(h)
	if !ok {
		return
	}
	now := c.host.Now()
	if x.queue != nil {
		x.queue.fired()
	}
	x.catchUp(now)
	x.cell.Step(reducer.Action{Kind: reducer.Tick}, now, x.out)
	x.settle(now)
}

// configureKeys gives the cells of all keys another configuration.
func (c *StepCells) configureKeys(config keyedcells.Config) (all CellEvents) {
	now := c.host.Now()
	c.full.Store(false)
	// The plan has checked the bounds.
	_ = c.cells.Configure(config, now, func(r keyedcells.Ref, old cell.Cell, next cell.Maker) cell.Cell {
		x := c.openAs(r, old, new(reducer.Out))
		x.cell = x.adopt(next, now)
		if changes, woken := x.collect(now); len(changes) > 0 || woken != nil {
			all = append(all, cellEvents{step: c, key: r.Key(), changes: changes, woken: woken})
		}
		return x.cell
	})
	if c.cells.Evicts() {
		all = append(all, cellEvents{step: c, evicts: true, now: now})
	}
	return all
}

// cellRef names the cell of a mechanism, of a step, or of a key of a step.
type cellRef struct {
	one    *LockedCell
	step   *StepCells // of a step with keys
	handle keyed.Handle
}

// Step steps the cell. It does nothing to one whose key was evicted.
func (x cellRef) Step(a reducer.Action, now clock.Mark) reducer.Answer {
	if x.one != nil {
		return x.one.Step(a, now)
	}
	k, ok := x.step.resolve(x.handle)
	if !ok {
		return reducer.Answer{}
	}
	return k.do(a, now)
}

// exit is LockedCell.Exit.
func (x cellRef) exit(p reducer.Permit, now clock.Mark) bool {
	if x.one != nil {
		return x.one.Exit(p, now)
	}
	return x.step.exit(x.handle, p, now)
}

// now returns the present mark.
func (x cellRef) now() clock.Mark {
	if x.one != nil {
		return x.one.queue.now()
	}
	return x.step.host.Now()
}

// view calls f with the cell, unless its key was evicted.
func (x cellRef) view(f func(cell.Cell)) {
	if x.one != nil {
		x.one.mu.Lock()
		defer x.one.mu.Unlock()
		f(x.one.Cell)
		return
	}
	if k, ok := x.step.resolve(x.handle); ok {
		defer k.ref.Unlock()
		f(k.cell)
	}
}

// Leave cancels the wait. It returns false when the wait is over already; then Effect
// says how.
func (w *Waiter) Leave(now clock.Mark) bool {
	if b := w.cell.one; b != nil {
		return b.leave(w, now)
	}
	return w.cell.step.leave(w, now)
}
