package engine

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/reducer"
)

// StepLine has the state of a step with one cell for all calls at the end of each part.
// A slice is nil where the mechanism has no such number.
type StepLine struct {
	Step string
	Kind mechanism.Kind
	// Limit is the most permits that can be free, or the places that there are at that time.
	Limit []float64
	// Free permits, and retries that a budget has left.
	Free []uint32
	// Used places.
	Used []uint32
	// Waiting callers of a step with a queue.
	Waiting []uint32
}

// gauge reads the cell of a step.
type gauge struct {
	index int
	full  uint32 // Free of a cell that was never used
}

// peek asks a cell how many permits or places are free.
func peek(c cell.Cell, now clock.Mark) uint32 {
	return c.Step(reducer.Action{Kind: reducer.Peek}, now, nil).Free
}

// gaugeSteps adds a line for each step of the policy whose state is a number.
func (p *process) gaugeSteps(lines *[]StepLine) {
	p.lines = lines
	plan, parts := p.driver.Plan(), p.sim.timeline.Parts
	for i := range plan.Len() {
		if plan.Maker(i) == nil || len(plan.Per(i)) > 0 {
			continue
		}
		line := StepLine{Step: plan.StepName(i), Kind: plan.Kind(i)}
		counts := func() []uint32 { return make([]uint32, parts) }
		switch traits := mechanisms.Row(line.Kind).Traits; {
		case traits.Has(mechanism.Modes) || traits.Has(mechanism.Hedges):
			continue
		case traits.Has(mechanism.Holds):
			line.Limit, line.Used = make([]float64, parts), counts()
		case traits.Has(mechanism.Asks):
			line.Limit, line.Free = make([]float64, parts), counts()
		default: // a budget
			line.Free = counts()
		}
		if mechanisms.Facts(line.Kind).Queue != nil {
			line.Waiting = counts()
		}
		*lines = append(*lines, line)
		p.gauges = append(p.gauges, gauge{index: i, full: peek(plan.Maker(i).New(0), 0)})
	}
}

// measure ends a part of the timeline. What it reads changes no state.
func (p *process) measure() {
	if len(p.gauges) == 0 {
		return
	}
	now, part := p.local(), p.sim.part
	for i := range p.gauges {
		line, g := &(*p.lines)[i], &p.gauges[i]
		c := p.driver.Cell(g.index, 0)
		numbers := cell.GaugeOf(c)
		switch {
		case line.Used != nil:
			line.Limit[part], line.Used[part] = float64(numbers.Places), numbers.InUse
		case line.Limit != nil:
			line.Limit[part] = float64(g.full)
		}
		if line.Free != nil {
			line.Free[part] = peek(c, now)
		}
		if line.Waiting != nil {
			line.Waiting[part] = numbers.Waiting
		}
	}
}
