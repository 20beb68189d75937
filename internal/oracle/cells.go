package oracle

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// group is the cells of one step, shared by all plans in which it was matched.
type group struct {
	engine *Engine
	step   pipeline.Step
	cells  []*cell // one for each key that has a cell of its own
	spare  *cell   // for the keys that have none, once there was such a key
	uses   int
}

// cell is the state of one step for one value of `per`. One field is set.
type cell struct {
	key      string
	used     int  // the number of its last use
	passed   bool // it was old enough for an eviction, or held or blocked then, and was not used since
	evicted  bool
	limit    *limitCell
	breaker  *breakerCell
	bulkhead *bulkheadCell
	budget   *budgetCell
	hedge    *hedgeCell
	guard    guard
}

// guard is the cell of a mechanism that holds places for each attempt and has no
// queue. Where a guard is, nothing else in this package knows of its mechanism.
type guard interface {
	// ask returns the answer to a newcomer of a cost, and changes nothing.
	ask(cost int64) answer
	// take takes as many places for an attempt that is cut at a bound, and returns the
	// function that frees them: with the outcome of an attempt that was admitted at a mark, or
	// with none.
	take(cost, bound, now int64) (*place, func(outcome string, since, now int64))
	// free frees places without an outcome.
	free(p *place, now int64)
	// lease returns how long places are held without a renewal, 0 for ever.
	lease() int64
	held() bool
	// unused reports whether it decides as a new one.
	unused(now int64) bool
	configure(config mechanism.Config)
}

// all returns the cells of the group.
func (g *group) all() []*cell {
	if g.spare == nil {
		return g.cells
	}
	return append(g.cells[:len(g.cells):len(g.cells)], g.spare)
}

// value returns what the call has for an attribute. What it does not name is
// empty.
func (event Event) value(attribute string) string {
	if attribute == "key" {
		return event.Key
	}
	return event.Attributes[attribute]
}

// key returns the text of the values of `per`.
func (g *group) key(event Event) string {
	key := ""
	for _, name := range g.step.Per {
		key += strconv.Quote(inKey(name, event.value(name)))
	}
	return key
}

// lacks reports whether the call has no value for the step's `per`. Readings: a
// list lacks a value when one of its attributes does, and an empty value is a
// missing one, because a call's key cannot be distinguished from none.
func (c *call) lacks(i int) bool {
	for _, name := range c.plan.steps[i].Per {
		if c.event.value(name) == "" {
			return true
		}
	}
	return false
}

// skips and denies say what `missing` makes of the call at step i: `skip` passes
// the step without asking its cell, and `deny` refuses with a reason of its own,
// `missing`, and no retry-after. Readings: whatever the cost is, and for the cell
// of a retry or a hedge as for any other.
func (c *call) skips(i int) bool {
	return c.plan.steps[i].omitted || c.plan.steps[i].Missing == pipeline.MissingSkip && c.lacks(i)
}

func (c *call) denies(i int) bool {
	return !c.plan.steps[i].omitted && c.plan.steps[i].Missing.Denies() && c.lacks(i)
}

// keys returns the greatest number of cells of the group.
func (g *group) keys() int {
	if g.step.Keys == 0 {
		return pipeline.DefaultKeys
	}
	return int(g.step.Keys)
}

// find returns the cell that an acquire of the call would ask, or nil if that
// would make a new one.
func (g *group) find(event Event) *cell {
	key := g.key(event)
	for _, c := range g.cells {
		if c.key == key {
			return c
		}
	}
	if g.full() && !g.evicts() {
		return g.spare
	}
	return nil
}

// evicts reports whether there is a cell that a new key would take.
func (g *group) evicts() bool {
	return g.step.WhenFull == pipeline.FullEvict && slices.ContainsFunc(g.cells, func(c *cell) bool { return !c.held() })
}

func (g *group) full() bool { return len(g.cells) >= g.keys() }

// use returns the cell for an acquire of the call. A new key beyond `keys` takes
// the cell of another key, and the spare cell if there is none to take. Reading: a key
// that shares gets a cell of its own as soon as it can have one.
func (g *group) use(event Event) *cell {
	c := g.find(event)
	if c == nil {
		g.shrink(g.keys() - 1)
		c = g.find(event) // the spare cell, where a lowered number is still exceeded
	}
	if c == nil {
		c = g.newCell()
		if g.full() {
			g.spare = c
		} else {
			c.key = g.key(event)
			g.cells = append(g.cells, c)
		}
	}
	g.uses++
	c.used, c.passed = g.uses, false
	return c
}

// shrink evicts cells until there are at most n, or none that can be.
func (g *group) shrink(n int) {
	for len(g.cells) > n && g.evicts() {
		g.evict(g.victim())
	}
}

// victim returns the cell that a new key takes, where there is one. A cell is old enough
// when at least half of all keys, with the new one, were used after it. Of those that are,
// and not held, one of the least class goes, and of these the least recently used.
// Readings: where there is none without a running block, the least recently used one of
// the others goes; what is passed over then stays old enough until its next use.
func (g *group) victim() *cell {
	byUse := slices.SortedFunc(slices.Values(g.cells), func(a, b *cell) int { return a.used - b.used })
	fresh := 0
	for _, c := range byUse {
		if !c.passed {
			fresh++
		}
	}
	var victim *cell
	for _, c := range byUse {
		oldEnough := c.passed || 2*fresh >= len(g.cells)
		if !oldEnough && victim != nil && g.class(victim) < blocked {
			break
		}
		if !c.passed {
			c.passed = true
			fresh--
		}
		if !c.held() && (victim == nil || g.class(c) < g.class(victim)) {
			victim = c
		}
	}
	return victim
}

// The classes of cells that are not held.
const (
	unused = iota
	inUse
	usedUp
	blocked
)

// class returns what is lost with a cell.
func (g *group) class(c *cell) int {
	now := g.engine.now
	switch l := c.limit; {
	case l != nil && l.blocked(now):
		return blocked
	case l != nil && l.meter.earliest(1, now) > now:
		return usedUp
	case c.unused(now):
		return unused
	case c.breaker != nil && (c.breaker.phase == open || c.breaker.phase == halfOpen || c.breaker.phase == forcedOpen):
		return usedUp
	}
	return inUse
}

// unused reports whether the cell, which is not held, decides as a new one.
func (l *cell) unused(now int64) bool {
	switch {
	case l.limit != nil:
		l.limit.pardon(now)
		return l.limit.row == (row{}) && l.limit.meter.unused(now)
	case l.breaker != nil:
		return l.breaker.unused(now)
	case l.budget != nil:
		return l.budget.unused()
	case l.hedge != nil:
		return len(l.hedge.samples) == 0 && (l.hedge.budget == nil || l.hedge.budget.unused())
	case l.guard != nil:
		return l.guard.unused(now)
	}
	return true
}

// mayBlock reports whether a refusal of a cell may begin a block: at most half of `keys`
// have one.
func (g *group) mayBlock(c *cell, now int64) bool {
	if len(g.step.Per) == 0 || g.step.WhenFull == pipeline.FullShare || c == g.spare {
		return true
	}
	n := 0
	for _, other := range g.cells {
		if other.limit.blocked(now) {
			n++
		}
	}
	return n < g.keys()/2
}

// evict removes a cell. Permits that were granted by it name a cell that is no
// longer in the group, so what they do has no effect.
func (g *group) evict(gone *cell) {
	gone.evicted = true
	var rest []*cell
	for _, c := range g.cells {
		if c != gone {
			rest = append(rest, c)
		}
	}
	g.cells = rest
}

// held reports whether a call waits, holds a place or runs a probe there. A phantom
// waits and holds like a call.
func (l *cell) held() bool {
	switch {
	case l.limit != nil:
		return len(l.limit.queue) > 0
	case l.bulkhead != nil:
		return len(l.bulkhead.queue) > 0 || len(l.bulkhead.places) > 0
	case l.breaker != nil:
		return len(l.breaker.probes) > 0
	case l.guard != nil:
		return l.guard.held()
	}
	return false
}

// lease returns how long places are held without a renewal, 0 for ever.
func (l *cell) lease() int64 {
	if l.guard != nil {
		return l.guard.lease()
	}
	return int64(l.bulkhead.cfg.Lease)
}

// lapse frees places whose lease is over.
func (l *cell) lapse(p *place, now int64) {
	if l.guard != nil {
		l.guard.free(p, now)
	} else {
		l.bulkhead.free(p)
	}
}

// newCell returns a cell of the group's settings.
func (g *group) newCell() *cell {
	c := &cell{guard: newGuard(g.step.Config)}
	switch cfg := g.step.Config.(type) {
	case limiter.Config:
		c.limit = newLimit(cfg)
		c.limit.mayBlock = func(now int64) bool { return g.mayBlock(c, now) }
	case breaker.Config:
		c.breaker = &breakerCell{cfg: cfg, until: never, lastDelay: -1}
	case bulkhead.Config:
		c.bulkhead = &bulkheadCell{cfg: cfg}
	case retry.Config:
		c.budget = newBudget(cfg.Budget)
	case hedge.Config:
		c.hedge = newHedge(cfg)
	}
	return c
}
