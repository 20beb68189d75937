package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// Pipeline is a plan with its cells, safe for concurrent use.
type Pipeline struct {
	Listeners
	*Settings
	layout  atomic.Pointer[binding]
	change  sync.Mutex // of the binding
	shared  sync.Mutex // of the cells that all calls share
	numbers atomic.Uint64
	name    string
}

// binding is a plan with the cells of its steps, immutable. A call keeps the
// binding under which it began. core/drive has the same.
type binding struct {
	plan  *pipeline.Plan
	about any // what the public package keeps beside the plan
	steps [pipeline.MaxSteps]*StepCells
	cells [pipeline.MaxSteps]*LockedCell // of the steps with one cell
	// ends are what attempts end with: at the caller's deadline, then at each
	// timeout step.
	ends [pipeline.MaxSteps + 1]*end

	softens bool   // a timeout has a soft limit
	races   bool   // attempts run beside each other
	leases  uint16 // steps whose places have a lease

	// Of the fast path, where the plan has one.
	hasFastPath bool
	fastSteps   []fastPathStep
	budget      *LockedCell   // of the retry, nil for none
	cut         time.Duration // of the shortest timeout, 0 for none
	cutStep     int           // that timeout
	due         time.Duration // of the first timeout or warning, 0 for none
}

// end is what an attempt ends with at a deadline.
type end struct {
	cause    error
	deadline *attempt.Deadline
}

// StepCells are the cells of a step: one, or one for each key.
type StepCells struct {
	pipeline *Pipeline
	name     string
	per      []string
	kind     pipeline.Kind
	one      *LockedCell

	mu       sync.Mutex
	maker    cell.Maker
	leased   bool
	byKey    map[string]*LockedCell
	list     []*LockedCell // of the map, for the search for forgettable ones
	last     clock.Mark
	hand     int
	overflow *LockedCell // shared by new keys when there are too many
}

// New binds a plan to new cells. The public package keeps what it wants beside
// the plan.
func New(plan *pipeline.Plan, about any, s *Settings) *Pipeline {
	p := &Pipeline{Settings: s, name: plan.Name()}
	l, _ := p.bind(plan, about, nil)
	p.layout.Store(l)
	return p
}

// Bound returns the active plan and what the public package keeps beside it.
func (p *Pipeline) Bound() (*pipeline.Plan, any) {
	l := p.layout.Load()
	return l.plan, l.about
}

// Configure replaces the active plan, and returns the events of its cells, for
// EmitAll when the caller holds no lock.
func (p *Pipeline) Configure(plan *pipeline.Plan, about any) CellEvents {
	p.change.Lock()
	defer p.change.Unlock()
	l, all := p.bind(plan, about, p.layout.Load())
	p.layout.Store(l)
	return all
}

// CellEvents are the changes of cells that are to be emitted.
type CellEvents []cellEvents

// cellEvents are the changes of one cell.
type cellEvents struct {
	cell    *LockedCell
	changes []reducer.Effect
}

// EmitAll emits all of them.
func (all CellEvents) EmitAll() {
	for _, e := range all {
		e.cell.emit(e.changes)
	}
}

// bind binds a plan to the cells of the old binding that its steps match, and to
// new ones.
func (p *Pipeline) bind(plan *pipeline.Plan, about any, old *binding) (l *binding, all CellEvents) {
	l = &binding{plan: plan, about: about}
	l.ends[0] = p.endAt(pipeline.Deadline)
	for i := range plan.Len() {
		s := plan.Step(i)
		if s.Kind() == pipeline.Timeout {
			l.ends[i+1] = p.endAt(s.Name)
			l.softens = l.softens || pipeline.ConfigOf[timeout.Config](s).Soft > 0
		}
		if plan.Maker(i) == nil {
			continue
		}
		c := old.match(plan, i)
		if c != nil {
			all = append(all, c.configure(plan.Maker(i), hasLease(s))...)
		} else {
			c = p.newCells(plan.Maker(i), s)
		}
		l.steps[i], l.cells[i] = c, c.one
	}
	l.leases = leased(plan)
	h := plan.HedgeIndex()
	l.races = h >= 0 && !plan.Shadow(h)
	l.planFastPath()
	return l, all
}

func (p *Pipeline) endAt(step string) *end {
	cause := p.API.TimedOut(p.name, step, nil)
	return &end{cause, attempt.DeadlineWith(cause)}
}

func hasLease(s pipeline.Step) bool {
	return s.Kind() == pipeline.Bulkhead && pipeline.ConfigOf[bulkhead.Config](s).Lease > 0
}

// match returns the cells of the step that is step i of another plan as well, nil
// for none.
func (l *binding) match(plan *pipeline.Plan, i int) *StepCells {
	if l == nil {
		return nil
	}
	if j := plan.Match(i, l.plan); j >= 0 {
		return l.steps[j]
	}
	return nil
}

func (p *Pipeline) newCells(m cell.Maker, s pipeline.Step) *StepCells {
	c := &StepCells{pipeline: p, name: s.Name, per: s.Per, kind: s.Kind(), maker: m, leased: hasLease(s), last: clock.Always}
	if len(s.Per) == 0 {
		c.one = c.make("", p.Now())
		return c
	}
	c.byKey = map[string]*LockedCell{}
	return c
}

func (c *StepCells) make(key string, now clock.Mark) *LockedCell {
	mu := &c.pipeline.shared
	if len(c.per) > 0 {
		mu = new(sync.Mutex)
	}
	b := newLockedCell(c.maker.New(now), mu, c.pipeline.Now, c.changed)
	b.leased, b.key, b.born, b.used = c.leased, key, now, now
	return b
}

// changed emits a breaker's change or a lease that ran out.
func (c *StepCells) changed(b *LockedCell, e reducer.Effect) {
	event := Event{At: e.Permit.Mark, Policy: c.pipeline.name, Step: c.name, Key: b.key, Reason: e.Reason}
	if e.Kind == reducer.Lapse {
		event.Kind, event.RetryAfter = decision.Lapse, -1
	} else {
		event.Kind, event.Mode = decision.Change, breaker.Mode(e.Permit.ID)
	}
	c.pipeline.Emit(event)
}

func (c *StepCells) configure(m cell.Maker, leased bool) (all CellEvents) {
	c.mu.Lock()
	c.maker, c.leased = m, leased
	cells := c.all()
	c.mu.Unlock()
	if c.one != nil {
		cells = append(cells, c.one)
	}
	for _, b := range cells {
		if changes := b.adopt(m, leased); len(changes) > 0 {
			all = append(all, cellEvents{b, changes})
		}
	}
	return all
}

// find is At for the key of a request.
func (c *StepCells) find(lookup func(string) string, now clock.Mark) *LockedCell {
	key, _ := keyed.Join(c.per, lookup)
	return c.At(key, now)
}

// missing reports whether a request lacks an attribute of the key.
func (c *StepCells) missing(lookup func(string) string) bool {
	_, missing := keyed.Join(c.per, lookup)
	return missing
}

// all returns the cells of keys and the one that keys above the maximum share.
// The caller holds the mutex.
func (c *StepCells) all() []*LockedCell {
	cells := slices.Clone(c.list)
	if c.overflow != nil {
		cells = append(cells, c.overflow)
	}
	return cells
}

// At returns the cell of a key, in use until Done.
func (c *StepCells) At(key string, now clock.Mark) *LockedCell {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A cell that was forgotten has been full at some mark. One that is made anew
	// for a caller who read the clock before that does not begin before it.
	c.last = max(c.last, now)
	b := c.byKey[key]
	if b == nil {
		b = c.add(key, c.last)
	}
	b.refs.Add(1)
	return b
}

// breakerIdle is how long a breaker's key is kept when nothing happens to it,
// once there are as many keys as there may be.
const breakerIdle = 10 * time.Minute

// add makes the cell of a key. At the maximum it looks for one to forget: one
// that cannot be told from a new one. Where there is none, new keys share one
// cell, see WithMaxKeys: while that can be told from a new one, any key that has
// none may have taken from it.
func (c *StepCells) add(key string, now clock.Mark) *LockedCell {
	if b := c.overflow; b != nil && (b.refs.Load() > 0 || !b.fresh(now, c.kind)) {
		return b
	}
	c.overflow = nil
	if len(c.list) >= c.pipeline.MaxKeys && !c.evict(now) {
		c.overflow = c.make("", now)
		c.overflow.shared = true
		return c.overflow
	}
	b := c.make(key, now)
	c.byKey[key] = b
	c.list = append(c.list, b)
	return b
}

// evictionProbes is how many cells are examined for one to evict.
const evictionProbes = 16

func (c *StepCells) evict(now clock.Mark) bool {
	for range min(evictionProbes, len(c.list)) {
		c.hand %= len(c.list)
		b := c.list[c.hand]
		if b.refs.Load() == 0 && b.fresh(now, c.kind) {
			delete(c.byKey, b.key)
			c.list[c.hand] = c.list[len(c.list)-1]
			c.list[len(c.list)-1] = nil
			c.list = c.list[:len(c.list)-1]
			return true
		}
		c.hand++
	}
	return false
}

// fresh reports whether a cell may be evicted.
func (b *LockedCell) fresh(now clock.Mark, kind pipeline.Kind) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind == pipeline.Breaker && b.used.Add(breakerIdle) <= now {
		return true
	}
	return b.Cell.Fresh(now)
}

// Step returns the cells of a step, nil for a step without.
func (p *Pipeline) Step(i int) *StepCells { return p.layout.Load().steps[i] }

// Done says that the caller of At no longer steps the cell.
func (b *LockedCell) Done() { b.refs.Add(-1) }

// Shared reports whether it is the cell that keys above the maximum share.
func (b *LockedCell) Shared() bool { return b.shared }

// New returns a cell as a key finds it that was never used.
func (c *StepCells) New(now clock.Mark) cell.Cell {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maker.New(now)
}

// Used returns how many keys have a cell that differs from a new one.
func (c *StepCells) Used(now clock.Mark) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.list {
		if !b.fresh(now, c.kind) {
			n++
		}
	}
	return n
}
