package shared

import (
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
)

// DefaultLease is the lease of the places of a worker at a bulkhead that has none: so
// long after the end of a worker its places are free again.
const DefaultLease = 30 * time.Second

// keyedMembers is how many workers may hold places of one key of a bulkhead at one time: as
// many as fit a slot.
const keyedMembers = 56

// Form returns a step in the form in which its cells are kept, in bytes: alone, without
// keys and without a queue. The step is one of a plan.
func Form(step pipeline.Step) []byte {
	switch c := step.Config.(type) {
	case limiter.Config:
		c.Wait, c.Queue, c.Order = 0, 0, limiter.Oldest
		c.Cost, c.Charge, c.SettleMax, c.Counts = limiter.Cost{}, limiter.ChargeStart, 0, 0
		step.Config = c
	case bulkhead.Config:
		c.Wait, c.Queue, c.Order, c.Cost = 0, 0, limiter.Oldest, limiter.Cost{}
		step.Config = c
	}
	if len(step.Per) == 0 {
		step.Name = "one"
	} else {
		step.Name = "keyed"
	}
	step.Mechanism, step.When, step.Enforce = "", nil, condition.Share{}
	step.Per, step.Keys, step.WhenFull, step.Missing, step.Shadow = nil, 0, pipeline.FullEvict, pipeline.MissingShare, false
	// The plan of the step has compiled it.
	plan, _ := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{step}})
	return planbytes.Append(nil, plan)
}

// Maker makes the cells of a step in the form of Form, nil for other bytes.
func Maker(form []byte) cell.Maker {
	plan, err := planbytes.Compile(form)
	if err != nil || plan.Len() != 1 {
		return nil
	}
	step := plan.Settings(0)
	if c, ok := step.Config.(bulkhead.Config); ok {
		members := uint32(0)
		if step.Name == "keyed" {
			members = keyedMembers
		}
		maker, err := bulkhead.SharedCells(c.Shared(DefaultLease, members))
		if err != nil {
			return nil
		}
		return maker
	}
	return plan.Maker(0)
}
