package runner

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/keyedcells"
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
	shares      bool // it asks cells that all calls share
	keyed       bool // it asks cells of keys
	exits       bool // a step's permit is given back after a success, too
	places      bool // a call of two phases keeps permits from Done to Release
	fastSteps   []fastPathStep
	budget      *LockedCell   // of the retry, nil for none
	tallies     bool          // it counts how attempts end, not first attempts
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
	holds    bool        // a call holds a place while it runs
	leased   atomic.Bool // leases may run out between steps
	one      *LockedCell // nil with keys
	cells    *keyedcells.Cells
	waits    durations.Histogram // that are over
	turns    atomic.Uint64       // waits that were over before the queue of a key was made
	full     atomic.Bool         // decision.Full was emitted since the plan was bound
	blocks   blocks
}

// New binds a plan to new cells. The public package keeps what it wants beside
// the plan.
func New(plan *pipeline.Plan, about any, s *Settings) *Pipeline {
	p := &Pipeline{Settings: s, name: plan.Name()}
	p.Listeners.Panicked = s.API.ListenerPanicked
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
	return p.configure(plan, about)
}

// configure is Configure for a caller that holds the lock.
func (p *Pipeline) configure(plan *pipeline.Plan, about any) CellEvents {
	l, all := p.bind(plan, about, p.layout.Load())
	p.layout.Store(l)
	if pipe := p.trace(); pipe != nil {
		pipe.Configure(p.Now(), plan)
	}
	// A waiter that goes on finds the new configuration at all steps.
	for _, e := range all {
		e.woken.wakeAll()
	}
	return append(CellEvents{{configured: p, now: p.Now()}}, all...)
}

// CellEvents are changes of cells that the caller emits later, with EmitAll.
type CellEvents []cellEvents

// cellEvents are the changes of one cell.
type cellEvents struct {
	configured *Pipeline // that has another plan; then there is nothing else
	step       *StepCells
	key        string
	changes    []change
	full       bool // see decision.Full
	evicts     bool // keys were evicted
	now        clock.Mark
	woken      *Waiter // the first of those whose wait a new configuration ended
}

// EmitAll emits all of them.
func (all CellEvents) EmitAll() {
	for _, e := range all {
		e.emit()
	}
}

// bind binds a plan to the cells of the old binding that its steps match, and to
// new ones.
func (p *Pipeline) bind(plan *pipeline.Plan, about any, old *binding) (l *binding, all CellEvents) {
	l = &binding{plan: plan, about: about}
	l.ends[0] = p.endAt(pipeline.Deadline)
	for i := range plan.Len() {
		s := plan.Step(i)
		if c := pipeline.ConfigOf[timeout.Config](s); c.After > 0 {
			l.ends[i+1] = p.endAt(s.Name)
			l.softens = l.softens || c.Soft > 0
		}
		if plan.Maker(i) == nil {
			continue
		}
		c := old.match(plan, i)
		if c != nil {
			all = append(all, c.configure(plan, i)...)
		} else {
			c = p.newCells(plan, i)
		}
		l.steps[i], l.cells[i] = c, c.one
	}
	l.leases = leased(plan)
	h := plan.HedgeIndex()
	l.races = h >= 0 && !plan.Shadow(h)
	if p.Classifier == nil && !p.Informs {
		l.planFastPath()
	}
	return l, all
}

func (p *Pipeline) endAt(step string) *end {
	cause := p.API.TimedOut(p.name, step, nil)
	return &end{cause, attempt.DeadlineWith(cause)}
}

func hasLease(s pipeline.Step) bool {
	return pipeline.ConfigOf[bulkhead.Config](s).Lease > 0
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

func (p *Pipeline) newCells(plan *pipeline.Plan, i int) *StepCells {
	s := plan.Step(i)
	c := &StepCells{pipeline: p, name: s.Name, per: s.Per, holds: mechanisms.Row(s.Kind()).Traits.Has(mechanism.Holds)}
	c.leased.Store(hasLease(s))
	if len(s.Per) > 0 {
		// The plan has checked the bounds.
		config := cellsOf(plan, i, p.MaxKeys)
		config.Watched = c.watches
		c.cells, _ = keyedcells.New(config)
		return c
	}
	changed := func(x change) { c.changed("", x) }
	c.one = newLockedCell(plan.Maker(i).New(p.Now()), &p.shared, p.Now, hasLease(s), &p.Listeners, changed)
	return c
}

// configure puts the cells under step i of another plan.
func (c *StepCells) configure(plan *pipeline.Plan, i int) (all CellEvents) {
	leased := hasLease(plan.Step(i))
	// Places that were given under a lease keep its end.
	c.leased.Store(c.leased.Load() || leased)
	if c.one == nil {
		return c.configureKeys(cellsOf(plan, i, c.pipeline.MaxKeys))
	}
	if changes, woken := c.one.adopt(plan.Maker(i), leased); len(changes) > 0 || woken != nil {
		all = append(all, cellEvents{step: c, changes: changes, woken: woken})
	}
	return all
}

// emit emits the changes. A listener may call back, so the caller holds no lock.
func (e cellEvents) emit() {
	if p := e.configured; p != nil {
		p.Emit(&Event{At: e.now, Policy: p.name, Kind: decision.Configured, RetryAfter: -1})
		return
	}
	if e.evicts {
		e.step.evicted(e.now)
	}
	if e.full {
		p := e.step.pipeline
		p.Emit(&Event{At: e.now, Policy: p.name, Step: e.step.name, Key: e.key, Kind: decision.Full, RetryAfter: -1})
	}
	for _, x := range e.changes {
		e.step.changed(e.key, x)
	}
}

// changed emits a breaker's change or a lease that ran out.
func (c *StepCells) changed(key string, x change) {
	e := c.event(key, x)
	c.pipeline.Emit(&e)
}

// event returns the event of a change of a cell.
func (c *StepCells) event(key string, x change) Event {
	e := x.event()
	e.Policy, e.Step, e.Key = c.pipeline.name, c.name, key
	return e
}

// event returns the event of an effect.
func (x change) event() Event {
	e := Event{At: x.Permit.Mark, Reason: x.Reason}
	if x.Kind == reducer.Lapse {
		e.Kind, e.RetryAfter = decision.Lapse, -1
	} else {
		e.Kind, e.Mode = decision.Change, breaker.Mode(x.Permit.ID)
		e.Manual, e.Slow, e.Counts = x.manual, x.slow, x.counts
	}
	return e
}

// evicted emits the keys that lost their cells.
func (c *StepCells) evicted(now clock.Mark) {
	for _, key := range c.cells.Evicted() {
		c.pipeline.Emit(&Event{At: now, Policy: c.pipeline.name, Step: c.name, Key: key, Kind: decision.Evicted, RetryAfter: -1})
	}
}

// watches reports whether evictions of the step have a listener.
func (c *StepCells) watches() bool { return c.pipeline.Hears(decision.Evicted) }

// missing reports whether a request lacks an attribute of the key.
func (c *StepCells) missing(lookup func(string) string) bool {
	_, missing := keyed.Join(c.per, lookup)
	return missing
}
