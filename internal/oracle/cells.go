package oracle

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
)

// group is the cells of one step, shared by all plans in which it was matched.
type group struct {
	step  pipeline.Step
	cells []*cell
}

// cell is the state of one step for one value of `per`. One field is set.
type cell struct {
	key      string
	limit    *limitCell
	breaker  *breakerCell
	bulkhead *bulkheadCell
	budget   *budgetCell
}

// cell returns the cell for the call, made when a call first reaches it.
func (g *group) cell(event Event) *cell {
	key := ""
	for _, name := range g.step.Per {
		value := event.Attributes[name]
		if name == "key" {
			value = event.Key
		}
		key += strconv.Quote(value)
	}
	for _, c := range g.cells {
		if c.key == key {
			return c
		}
	}
	c := &cell{key: key}
	switch g.step.Kind() {
	case pipeline.Limit:
		c.limit = newLimit(pipeline.ConfigOf[limiter.Config](g.step))
	case pipeline.Breaker:
		c.breaker = &breakerCell{cfg: pipeline.ConfigOf[breaker.Config](g.step), until: never, lastDelay: -1}
	case pipeline.Bulkhead:
		c.bulkhead = &bulkheadCell{cfg: pipeline.ConfigOf[bulkhead.Config](g.step)}
	case pipeline.Retry:
		c.budget = &budgetCell{cfg: pipeline.ConfigOf[retry.Config](g.step).Budget}
	}
	g.cells = append(g.cells, c)
	return c
}

// compile makes a plan. Steps that the present plan has under the same name, of
// the same kind and with the same `per` keep their cells; a budget only if both
// have one. A step that had no match in the plan before begins anew, even if an
// older plan, whose calls still use it, had one of its name.
func (e *Engine) compile(policy pipeline.Policy) *plan {
	p := &plan{retry: -1, fallback: policy.Fallback != nil}
	seen := map[pipeline.Kind]int{}
	for i, s := range policy.Steps {
		seen[s.Kind()]++
		if s.Name == "" {
			s.Name = s.Kind().String()
			if n := seen[s.Kind()]; n > 1 {
				s.Name += "-" + strconv.Itoa(n)
			}
		}
		s.Name = strings.Clone(s.Name)
		if s.Kind() == pipeline.Retry {
			p.retry = i
		}
		g := e.matched(s)
		if g == nil {
			g = &group{step: s}
			e.groups = append(e.groups, g)
			if s.Kind() == pipeline.Limit && len(s.Per) == 0 {
				// A limiter for all is full from the start on, and
				// carries that over.
				g.cell(Event{})
			}
		}
		p.steps = append(p.steps, step{Step: s, group: g})
	}
	return p
}

// matched returns the cells of the present plan's step that the new one is.
func (e *Engine) matched(s pipeline.Step) *group {
	if e.plan == nil {
		return nil
	}
	for _, old := range e.plan.steps {
		if old.Name != s.Name || old.Kind() != s.Kind() || !slices.Equal(old.Per, s.Per) {
			continue
		}
		if s.Kind() == pipeline.Retry && pipeline.ConfigOf[retry.Config](old.Step).Budgeted != pipeline.ConfigOf[retry.Config](s).Budgeted {
			continue
		}
		return old.group
	}
	return nil
}

// configure puts a new policy in force. Waiters that can no longer be served are
// refused call by call, in the order of their numbers.
func (e *Engine) configure(policy pipeline.Policy) {
	e.say("", "configured")
	e.plan = e.compile(policy)
	for _, s := range e.plan.steps {
		s.group.step = s.Step
		for _, c := range s.group.cells {
			switch {
			case c.limit != nil:
				c.limit.configure(pipeline.ConfigOf[limiter.Config](s.Step), e.now)
			case c.breaker != nil:
				c.breaker.configure(pipeline.ConfigOf[breaker.Config](s.Step), e.now)
			case c.bulkhead != nil:
				c.bulkhead.cfg = pipeline.ConfigOf[bulkhead.Config](s.Step)
			case c.budget != nil:
				c.budget.configure(pipeline.ConfigOf[retry.Config](s.Step).Budget)
			}
		}
	}
	for _, c := range e.calls {
		for i, w := range c.waits {
			if w == nil {
				continue
			}
			if l := c.cell(i).limit; l != nil && w.cost > l.capacity() {
				e.expire(w, "capacity")
			}
		}
	}
}
