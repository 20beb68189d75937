package runner

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// Pipeline is a plan with its cells, safe for concurrent use.
type Pipeline struct {
	Listeners
	*Settings
	layout     atomic.Pointer[binding]
	mechanisms *Mechanisms // that it shares with other pipelines
	shared     sync.Mutex  // of the other cells that all calls share
	numbers    atomic.Uint64
	name       string
	// Owner is what lives as long as the pipeline, of the public package. Set before the
	// first use.
	Owner any
}

// binding is a plan with the cells of its steps, immutable. A call keeps the
// binding under which it began. core/drive has the same.
type binding struct {
	plan  *pipeline.Plan
	about any // what the public package keeps beside the plan
	steps [pipeline.MaxSteps]*StepCells
	cells [pipeline.MaxSteps]*LockedCell // of the steps with one cell
	at    [pipeline.MaxSteps]member      // of the steps with cells
	// ends are what attempts end with: at the caller's deadline, then at each
	// timeout step.
	ends [pipeline.MaxSteps + 1]*end

	softens bool   // a timeout has a soft limit
	races   bool   // attempts run beside each other
	leases  uint16 // steps whose places have a lease
	// slow are the durations above which the steps count an attempt as slow, 0 for none, and
	// quotas the most permits that are free at one instant, 0 for a step without a rate.
	slow   [pipeline.MaxSteps]time.Duration
	quotas [pipeline.MaxSteps]uint32

	// Of a plan whose steps apply to some calls alone. applied says that this is the binding
	// of calls to which the steps skips do not apply.
	variants *variants // nil where no variant has a fast path
	applied  bool
	skips    uint16

	// Of the fast path, where the plan has one.
	hasFastPath bool
	shares      bool          // it asks cells that all calls of the pipeline share
	mutexes     []*sync.Mutex // of the cells that calls of other pipelines share, too
	keyed       bool          // it asks cells of keys
	exits       bool          // a step's permit is given back after a success, too
	places      bool          // a call of two phases keeps permits from Done to Release
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

// StepCells are the cells of a step, or of a mechanism that steps share: one, or one for
// each key.
type StepCells struct {
	members
	host     *Settings
	settings pipeline.Step // of a shared mechanism, as its cells have them
	order    uint64        // of a shared mechanism: the place of its mutex
	per      []string
	holds    bool        // a call holds a place while it runs
	modes    bool        // a cell has a mode, and no number of free permits
	leased   atomic.Bool // leases may run out between steps
	one      *LockedCell // nil with keys
	cells    *keyedcells.Cells
	turns    atomic.Uint64 // waits that were over before the queue of a key was made
	full     atomic.Bool   // decision.Full was emitted since the plan was bound
	blocks   blocks
}

// New returns a pipeline that has no plan yet. Configure, or Mechanisms.Configure, binds one to
// new cells and to the cells of the mechanisms that it shares. Nothing else but Listen may be
// called before.
func New(name string, s *Settings, shared *Mechanisms) *Pipeline {
	p := &Pipeline{Settings: s, name: name, mechanisms: shared}
	p.Listeners.LogTo(s.ListenerPanicked)
	return p
}

// Name returns the name of the policy.
func (p *Pipeline) Name() string { return p.name }

// Bound returns the active plan and what the public package keeps beside it.
func (p *Pipeline) Bound() (*pipeline.Plan, any) {
	l := p.layout.Load()
	return l.plan, l.about
}

// Configure replaces the active plan, and returns the events of its cells, for
// EmitAll when the caller holds no lock. Other pipelines take over the settings of the
// mechanisms that they share with it; the error is the error of one of their plans with them.
func (p *Pipeline) Configure(plan *pipeline.Plan, about any) (CellEvents, error) {
	return p.mechanisms.Configure([]Rebinding{{p, plan, about}})
}

// configure replaces the active plan. The caller holds the lock of the bindings.
func (p *Pipeline) configure(plan *pipeline.Plan, about any) CellEvents {
	old := p.layout.Load()
	l, all := p.bind(plan, about, old)
	p.layout.Store(l)
	if old == nil {
		p.mechanisms.pipelines = append(p.mechanisms.pipelines, weak.Make(p))
		return all
	}
	for _, c := range old.steps {
		if c != nil && c.order > 0 && !slices.Contains(l.steps[:], c) {
			c.part(p)
		}
	}
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
		if after, soft := plan.Cuts(i); after > 0 {
			l.ends[i+1] = p.endAt(s.Name)
			l.softens = l.softens || soft > 0
		}
		facts := mechanisms.Facts(s.Kind())
		if facts.Slow != nil {
			l.slow[i] = facts.Slow(s.Config)
		}
		if facts.Permits != nil {
			l.quotas[i] = facts.Permits(s.Config).Burst
		}
		if plan.Maker(i) == nil {
			continue
		}
		c := old.match(plan, i)
		var events CellEvents
		switch {
		case plan.Shares(i) != "":
			c, events = p.mechanisms.cellsOf(p, plan, i)
		case c != nil:
			events = c.configure(plan, i)
		default:
			c = p.newCells(plan, i, &p.shared)
		}
		all = append(all, events...)
		l.steps[i], l.cells[i], l.at[i] = c, c.one, c.join(p, s.Name, plan.Shares(i) != "")
	}
	l.leases = leased(plan)
	h := plan.HedgeIndex()
	l.races = h >= 0 && !plan.Shadow(h)
	if p.Classifier == nil && !p.Informs {
		l.planFastPaths(&p.shared)
	}
	return l, all
}

func (p *Pipeline) endAt(step string) *end {
	cause := &api.TimeoutError{Policy: p.name, Step: step}
	return &end{cause, attempt.DeadlineWith(cause)}
}

func hasLease(s pipeline.Step) bool {
	lease := mechanisms.Facts(s.Kind()).Lease
	return lease != nil && lease(s.Config) > 0
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

// newCells makes the cells of a step. mu is the mutex of the cell that all calls share.
func (p *Pipeline) newCells(plan *pipeline.Plan, i int, mu *sync.Mutex) *StepCells {
	s := plan.Step(i)
	traits := mechanisms.Row(s.Kind()).Traits
	c := &StepCells{host: p.Settings, per: s.Per, holds: traits.Has(mechanism.Holds), modes: traits.Has(mechanism.Modes)}
	c.leased.Store(hasLease(s))
	if len(s.Per) > 0 {
		// The plan has checked the bounds.
		config := cellsOf(plan, i, p.MaxKeys)
		config.Watched = c.watches
		c.cells, _ = keyedcells.New(config)
		return c
	}
	changed := func(x change) { c.changed("", x) }
	c.one = newLockedCell(plan.Maker(i).New(p.Now()), mu, p.Now, hasLease(s), &c.members, changed)
	return c
}

// configure puts the cells under step i of another plan.
func (c *StepCells) configure(plan *pipeline.Plan, i int) (all CellEvents) {
	leased := hasLease(plan.Step(i))
	// Places that were given under a lease keep its end.
	c.leased.Store(c.leased.Load() || leased)
	if c.one == nil {
		return c.configureKeys(cellsOf(plan, i, c.host.MaxKeys))
	}
	if changes, woken := c.one.adopt(plan.Maker(i), leased); len(changes) > 0 || woken != nil {
		all = append(all, cellEvents{step: c, changes: changes, woken: woken})
	}
	return all
}

// emit emits the changes. A listener may call back, so the caller holds no lock.
func (e cellEvents) emit() {
	if p := e.configured; p != nil {
		p.Emit(decision.Configured, &api.Event{At: e.now, Policy: p.name, Kind: decision.Configured, RetryAfter: -1})
		return
	}
	if e.evicts {
		e.step.evicted(e.now)
	}
	if e.full {
		e.step.emit(&api.Event{At: e.now, Key: e.key, Kind: decision.Full, RetryAfter: -1})
	}
	for _, x := range e.changes {
		e.step.changed(e.key, x)
	}
}

// changed emits a breaker's change or a lease that ran out.
func (c *StepCells) changed(key string, x change) {
	e := x.event()
	e.Key = key
	c.emit(&e)
}

// event returns the event of an effect.
func (x change) event() api.Event {
	e := api.Event{At: x.Permit.Mark, Reason: x.Reason}
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
		c.emit(&api.Event{At: now, Key: key, Kind: decision.Evicted, RetryAfter: -1})
	}
}

// watches reports whether evictions of the step have a listener.
func (c *StepCells) watches() bool { return c.Hears(decision.Evicted) }

// missing reports whether a request lacks an attribute of the key.
func (c *StepCells) missing(lookup func(string) string) bool {
	_, missing := keyed.Join(c.per, lookup)
	return missing
}
