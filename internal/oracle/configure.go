package oracle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// compile makes a plan. Steps that the present plan has under the same name, of
// the same kind and with the same `per` keep their cells; a retry only if both
// have a budget. A step that had no match in the plan before has new cells, even if
// an older plan, whose calls still use it, had one of its name.
//
// A step that shares a mechanism has the cells that the present plan of any policy has for
// a mechanism of the name, of the same kind and with the same `per`.
func (e *Engine) compile(t *tenant, policy pipeline.Policy) *plan {
	p := &plan{retry: -1, hedge: len(policy.Steps), fallback: policy.Fallback != nil, allow: policy.Allow, deny: policy.Deny}
	seen := map[pipeline.Kind]int{}
	for i, s := range policy.Steps {
		if s.Mechanism == "" {
			seen[s.Kind()]++
		}
		if s.Name == "" && s.Mechanism != "" {
			s.Name = s.Mechanism
		} else if s.Name == "" {
			s.Name = s.Kind().String()
			if n := seen[s.Kind()]; n > 1 {
				s.Name += "-" + strconv.Itoa(n)
			}
		}
		s.Name = strings.Clone(s.Name)
		switch s.Kind() {
		case mechanism.Retry:
			p.retry = i
		case mechanism.Hedge:
			p.hedge = i
		}
		g := e.matched(t, s)
		if g == nil {
			g = &group{engine: e, step: s}
			e.groups = append(e.groups, g)
			if (s.Kind() == mechanism.Limit || newGuard(s.Config) != nil) && len(s.Per) == 0 {
				// A limiter without `per` is full from the start on, and a
				// guard has its limit; both carry that over.
				g.use(Event{})
			}
		}
		p.steps = append(p.steps, step{Step: s, group: g})
	}
	return p
}

// matched returns the cells of the present plan's step that the new one is.
func (e *Engine) matched(t *tenant, s pipeline.Step) *group {
	var present []step
	for _, other := range e.tenants {
		if other.plan != nil && (other == t || s.Mechanism != "") {
			present = append(present, other.plan.steps...)
		}
	}
	for _, old := range present {
		name, wanted := old.Name, s.Name
		if s.Mechanism != "" {
			name, wanted = old.Mechanism, s.Mechanism
		} else if old.Mechanism != "" {
			continue
		}
		if name != wanted || old.Kind() != s.Kind() || !slices.Equal(old.Per, s.Per) {
			continue
		}
		if pipeline.ConfigOf[retry.Config](old.Step).Budgeted != pipeline.ConfigOf[retry.Config](s).Budgeted {
			continue
		}
		if hedged(old.Step) != hedged(s) {
			continue
		}
		return old.group
	}
	return nil
}

// hedged reports whether a step is a hedge that keeps a state: durations or a
// budget of its own. Reading: one that keeps none has nothing to carry over, and
// calls that began before keep what they had.
func hedged(s pipeline.Step) bool {
	c := pipeline.ConfigOf[hedge.Config](s)
	return c.Percentile.Positive() || c.Budgeted
}

// configure activates a new policy. A lowered `keys` evicts at once, unless a
// full step shares (reading). Waiters that can no longer be served are
// refused call by call, in the order of their numbers.
func (e *Engine) configure(t *tenant, policy pipeline.Policy) {
	id := ""
	if len(e.tenants) > 1 {
		id = strconv.Quote(t.name)
	}
	e.say(id, "configured")
	t.plan = e.compile(t, policy)
	for _, s := range t.plan.steps {
		s.group.step = s.Step
		s.group.shrink(s.group.keys())
		for _, c := range s.group.all() {
			c.configure(s.Step, e.now)
		}
	}
	for _, c := range e.calls {
		for _, w := range c.queued() {
			if w.cost > w.cell.capacity() && w.queues() {
				e.expire(w, "capacity")
			}
		}
	}
}

// capacity returns the greatest cost that a cell with a queue ever admits.
func (l *cell) capacity() int64 {
	if l.limit != nil {
		return l.limit.capacity()
	}
	return int64(l.bulkhead.cfg.Concurrent)
}

// configure changes the settings of a cell.
func (l *cell) configure(s pipeline.Step, now int64) {
	if l.guard != nil {
		l.guard.configure(s.Config)
	}
	switch cfg := s.Config.(type) {
	case limiter.Config:
		l.limit.configure(cfg, now)
	case breaker.Config:
		l.breaker.configure(cfg, now)
	case bulkhead.Config:
		l.bulkhead.cfg = cfg
	case retry.Config:
		l.budget.configure(cfg.Budget)
	case hedge.Config:
		l.hedge.configure(cfg)
	}
}
