package pipeline

import (
	"slices"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
)

// Costs are the costs of a call that attributes have: the bits of Known say for which
// steps.
type Costs struct {
	Known uint16
	Of    [MaxSteps]uint32
}

// Priced returns the steps whose cost an attribute has, as a mask.
func (p *Plan) Priced() uint16 { return p.with(mechanism.Priced) }

// CostsBy returns the costs that the attributes of a call have. A value that is not a
// whole number of at most 18 decimal digits is as one that is missing; one above the
// greatest uint32 counts as that, which no limiter admits.
func (p *Plan) CostsBy(lookup func(attribute string) string) (c Costs) {
	for left := p.with(mechanism.Priced); left != 0; left &= left - 1 {
		i := lowest(left)
		if n, ok := keyed.Number(lookup(p.stages[i].cost.Attribute)); ok {
			c.Of[i] = uint32(min(n, 1<<32-1))
			c.Known |= 1 << i
		}
	}
	return c
}

// Price gives a call that has begun, and has not entered a step, the costs that its
// attributes have.
func (p *Plan) Price(c *Call, costs *Costs) {
	for left := costs.Known & p.with(mechanism.Priced); left != 0; left &= left - 1 {
		i := lowest(left)
		c.Costs[i] = costs.Of[i]
	}
}

// priceDefaults gives a call the costs that the steps name themselves.
func (p *Plan) priceDefaults(c *Call) {
	if c.Costs == nil {
		c.Costs = new([MaxSteps]uint32)
	}
	for left := p.with(mechanism.Costs); left != 0; left &= left - 1 {
		i := lowest(left)
		c.Costs[i] = p.stages[i].cost.Permits
	}
}

// CostOf returns how many permits, or places, a call takes at a step.
func (p *Plan) CostOf(c *Call, i int) uint32 {
	switch bit := uint16(1) << i; {
	case p.with(mechanism.Costs)&bit != 0:
		return c.Costs[i]
	case p.single&bit != 0:
		return 1
	}
	return c.Cost
}

// TakesOne reports whether a call takes one place at a step, whatever its cost.
func (p *Plan) TakesOne(i int) bool { return p.single&(1<<i) != 0 }

// Costed returns the steps that have a cost of their own, as a mask.
func (p *Plan) Costed() uint16 { return p.with(mechanism.Costs) }

// CostAttribute returns the attribute that has the cost of a step, empty for none.
func (p *Plan) CostAttribute(i int) string { return p.stages[i].cost.Attribute }

// Attributes returns the attributes that the plan reads, each once: attributes of keys and of
// costs, and those that say which steps apply to a call and enforce for it.
func (p *Plan) Attributes() (names []string) {
	add := func(more ...string) {
		for _, name := range more {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		add(s.Per...)
		add(p.stages[i].cost.Attribute, s.Enforce.By)
		add(s.When.Attributes()...)
	}
	add(p.policy.Allow.Attributes()...)
	add(p.policy.Deny.Attributes()...)
	return names
}
