package runner

import (
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// Author says who changes something by hand, and why.
type Author struct{ By, Why string }

// Target is a step of the active plan, for an operator.
type Target struct {
	Step  pipeline.Step
	cells *StepCells // nil for a step without state
	at    member     // of the cells, zero for a step without state
	maker cell.Maker
}

// Target returns a step of the active plan by its name.
func (p *Pipeline) Target(name string) (t Target, ok bool) {
	l := p.layout.Load()
	for i := range l.plan.Len() {
		if l.plan.StepName(i) == name {
			return Target{l.plan.Step(i), l.steps[i], l.at[i], l.plan.Maker(i)}, true
		}
	}
	return t, false
}

// HasState reports whether the step has cells.
func (t Target) HasState() bool { return t.cells != nil }

// Key returns the key that values of the attributes make, in the order of the step.
func (t Target) Key(values []string) string {
	next := 0
	key, _ := keyed.Join(t.Step.Per, func(string) string {
		next++
		return values[next-1]
	})
	return key
}

// Operated says what an operation did.
type Operated uint8

// What an operation did.
const (
	OperatedDone   Operated = iota
	OperatedStale           // the cell does not know the action
	OperatedShared          // the key shares its cell with other keys
)

// Operate steps the cell of the step, or of a key of it, for an operator. A key without
// a cell gets one.
func (t Target) Operate(key string, a reducer.Action, word string, by Author) Operated {
	c, now := t.cells, t.cells.host.Now()
	if c.one != nil {
		// What is due by itself is no change by hand.
		c.one.Step(reducer.Action{Kind: reducer.Tick}, now)
		verdict, mode, changes := c.one.operate(a, now)
		c.emitBy(key, changes, by)
		return t.operated(verdict, a.Kind, key, mode, word, by, now)
	}
	x, at := c.use(key, now)
	if x.ref.Shared() {
		x.settle(at)
		return OperatedShared
	}
	x.do(reducer.Action{Kind: reducer.Tick}, at)
	if x, at = c.use(key, now); x.ref.Shared() {
		x.settle(at)
		return OperatedShared
	}
	return t.operateKey(x, a, word, by, at)
}

// Revert steps the cells of the step, or the one of a key, where they exist. Without a key it
// steps the cells of all keys.
func (t Target) Revert(key string, all bool, word string, by Author) Operated {
	c, now, a := t.cells, t.cells.host.Now(), reducer.Action{Kind: reducer.Reset}
	if c.one != nil {
		return t.Operate(key, a, word, by)
	}
	if !all {
		r, ok := c.cells.Find(key)
		if !ok {
			t.emitManual(key, 0, word, by, now)
			return OperatedDone
		}
		x := c.open(r)
		if r.Shared() {
			x.settle(now)
			return OperatedShared
		}
		return t.operateKey(x, a, word, by, now)
	}
	var handles []keyed.Handle
	c.cells.Each(func(r keyedcells.Ref) { handles = append(handles, r.Handle()) })
	for _, h := range handles {
		if x, ok := c.resolve(h); ok {
			_, _, events := x.operate(a, now)
			events.emitBy(by)
		}
	}
	t.emitManual("", 0, word, by, now)
	return OperatedDone
}

func (t Target) operateKey(x keyedCell, a reducer.Action, word string, by Author, now clock.Mark) Operated {
	key := x.ref.Key()
	verdict, mode, events := x.operate(a, now)
	events.emitBy(by)
	return t.operated(verdict, a.Kind, key, mode, word, by, now)
}

func (t Target) operated(verdict reducer.Verdict, kind reducer.Kind, key string, mode breaker.Mode, word string, by Author, now clock.Mark) Operated {
	if verdict == reducer.Stale {
		return OperatedStale
	}
	if kind == reducer.Drain {
		t.cells.emit(&api.Event{At: now, Key: key, Kind: decision.Drained, RetryAfter: -1, By: by.By, Why: by.Why})
	}
	t.emitManual(key, mode, word, by, now)
	return OperatedDone
}

// operate steps the cell, and returns what changed besides for the caller to emit.
func (b *LockedCell) operate(a reducer.Action, now clock.Mark) (v reducer.Verdict, mode breaker.Mode, changes []change) {
	b.mu.Lock()
	if b.Busy() {
		b.CatchUp(now)
	}
	before := modeOf(b.Cell)
	g := b.guarded()
	v = g.act(a, now).Verdict
	b.causes = g.causes
	mode = modeOf(b.Cell)
	changes, woken := b.collect(now)
	woken.wakeAll()
	return v, mode, unlessSame(changes, before, mode)
}

// operate is LockedCell.operate for the cell of a key, which it unlocks.
func (x *keyedCell) operate(a reducer.Action, now clock.Mark) (v reducer.Verdict, mode breaker.Mode, e cellEvents) {
	before := modeOf(x.cell)
	v = x.guarded.step(a, now).Verdict
	mode = modeOf(x.cell)
	changes, woken := x.collect(now)
	e = x.events(unlessSame(changes, before, mode), now)
	x.ref.Unlock()
	woken.wakeAll()
	return v, mode, e
}

// unlessSame returns the changes, and none where a breaker is in the mode in which it was:
// a listener may request the mode that it was called with.
func unlessSame(changes []change, before, after breaker.Mode) []change {
	if before == after {
		return nil
	}
	return changes
}

func modeOf(c cell.Cell) breaker.Mode {
	if core := breaker.CoreOf(c); core != nil {
		return core.Mode
	}
	return breaker.Closed
}

// emitBy is emit for changes by hand.
func (e cellEvents) emitBy(by Author) {
	if e.step != nil {
		e.step.emitBy(e.key, e.changes, by)
	}
}

func (c *StepCells) emitBy(key string, changes []change, by Author) {
	for _, x := range changes {
		e := x.event()
		e.Key, e.By, e.Why = key, by.By, by.Why
		c.emit(&e)
	}
}

// emitManual emits that an operator changed something, at the pipeline that was named.
func (t Target) emitManual(key string, mode breaker.Mode, word string, by Author, now clock.Mark) {
	t.at.emit(api.Event{
		At: now, Key: key, Kind: decision.Manual, Mode: mode, RetryAfter: -1, Action: word, By: by.By, Why: by.Why,
	})
}

// Block refuses a key for a time. It returns false where too many keys are blocked.
func (t Target) Block(key string, d time.Duration, word string, by Author) bool {
	c := t.cells
	now := c.host.Now()
	if !c.blocks.put(key, now.Add(d), now) {
		return false
	}
	t.at.emit(api.Event{
		At: now, Key: key, Kind: decision.Manual, Wait: d, RetryAfter: -1, Action: word, By: by.By, Why: by.Why,
	})
	return true
}

// Unblock ends the blocks of a key: the block of an operator, and the block of its limit. It
// returns false where the key is not blocked. It emits nothing without a word.
func (t Target) Unblock(key, word string, by Author) bool {
	c := t.cells
	now := c.host.Now()
	ok := c.blocks.remove(key, now)
	ok = t.lift(key, now) || ok
	if ok && word != "" {
		t.emitManual(key, 0, word, by, now)
	}
	return ok
}

// lift ends the block of a key that has exceeded its limit, where it has a cell of its own.
func (t Target) lift(key string, now clock.Mark) bool {
	if !t.blocks() {
		return false
	}
	r, ok := t.cells.cells.Find(key)
	if !ok {
		return false
	}
	x := t.cells.open(r)
	if r.Shared() {
		x.settle(now)
		return false
	}
	verdict, _, _ := x.operate(reducer.Action{Kind: reducer.Transition}, now)
	return verdict == reducer.Done
}

// blocks reports whether the cells of the step block themselves.
func (t Target) blocks() bool { return t.maker != nil && cell.Blocks(t.maker) }

// blockedUntil returns the mark until which a cell blocks itself.
func blockedUntil(c cell.Cell, now clock.Mark) (clock.Mark, bool) {
	if m, state := limiter.Of(c); m != nil {
		return m.BlockedUntil(state, now)
	}
	return now, false
}

// UnblockAll ends the blocks of an operator, of all keys.
func (t Target) UnblockAll() { t.cells.blocks.clear() }

// Blocked returns the keys that are blocked, and for how long.
func (t Target) Blocked() map[string]time.Duration {
	now := t.cells.host.Now()
	all := map[string]time.Duration{}
	for key, until := range t.cells.blocks.all(now) {
		all[key] = until.Sub(now)
	}
	if t.blocks() {
		t.cells.cells.Each(func(r keyedcells.Ref) {
			if until, ok := blockedUntil(r.Cell(), now); ok && !r.Shared() {
				all[r.Key()] = max(all[r.Key()], until.Sub(now))
			}
		})
	}
	return all
}

// Forget evicts the cell of a key. held is true where it has calls, and stays.
func (t Target) Forget(key, word string, by Author) (ok, held bool) {
	c := t.cells
	if ok, held = c.cells.Forget(key); ok {
		t.emitManual(key, 0, word, by, c.host.Now())
	}
	return ok, held
}

// Described returns the HandleState of a key without what its cell says.
func (t Target) Described(key string) api.HandleState {
	return api.HandleState{Step: t.Step.Name, Key: key, Kind: t.Step.Kind(), Config: t.Step.Config}
}

// State returns the state of the step or of a key of it. It takes nothing and creates no cell.
func (t Target) State(key string) api.HandleState {
	s, c := t.Described(key), t.cells
	if c == nil {
		return s
	}
	now := c.host.Now()
	if b := c.one; b != nil {
		s.Own, s.CellState = true, b.State(now)
		b.Lock()
		defer b.Unlock()
		s.Next, s.Blocked = nextOf(b.Cell, now), blockedFor(b.Cell, now)
		return s
	}
	if until, ok := c.blocks.find(key, now); ok {
		s.Blocked = until.Sub(now)
	}
	r, ok := c.cells.Find(key)
	if !ok {
		unknown := t.maker.New(now)
		s.CellState, s.Next = StateOf(unknown, 0, now), nextOf(unknown, now)
		return s
	}
	x := c.open(r)
	x.do(reducer.Action{Kind: reducer.Tick}, now)
	if r, ok = c.cells.Find(key); !ok {
		return s
	}
	defer r.Unlock()
	s.Own = !r.Shared()
	waiting := 0
	if r.Side() != nil {
		waiting = r.Side().(*queue).waiting
	}
	s.Blocked = max(s.Blocked, blockedFor(r.Cell(), now))
	s.CellState, s.Next = StateOf(r.Cell(), waiting, now), nextOf(r.Cell(), now)
	if s.Text == "" { // the view of a token bucket
		s.Text = r.Text(now)
	}
	return s
}

// blockedFor returns how long a cell blocks itself, 0 for not.
func blockedFor(c cell.Cell, now clock.Mark) time.Duration {
	if until, ok := blockedUntil(c, now); ok {
		return max(0, until.Sub(now))
	}
	return 0
}

// nextOf returns after what time the next permit is free, 0 where one is or where it is
// not known.
func nextOf(c cell.Cell, now clock.Mark) time.Duration {
	if breaker.CoreOf(c) != nil {
		return 0
	}
	answer := c.Step(reducer.Action{Kind: reducer.Peek, Cost: 1}, now, new(reducer.Out))
	next, _ := answer.RetryAfter(now)
	return next
}

// Edit replaces the active plan by one that edit makes of it, see Configure. An error of
// edit changes nothing.
func (p *Pipeline) Edit(edit func(*pipeline.Plan) (*pipeline.Plan, error)) (CellEvents, error) {
	p.mechanisms.mu.Lock()
	defer p.mechanisms.mu.Unlock()
	plan, about := p.Bound()
	next, err := edit(plan)
	if err != nil {
		return nil, err
	}
	return p.mechanisms.configure([]Rebinding{{p, next, about}})
}

// Configured emits that an operator configured a step.
func (t Target) Configured(p *Pipeline, word string, by Author) {
	p.Emit(decision.Manual, &api.Event{
		At: p.Now(), Policy: p.name, Step: t.Step.Name, Kind: decision.Manual, RetryAfter: -1, Action: word, By: by.By, Why: by.Why,
	})
}
