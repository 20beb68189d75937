package shared

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
)

const (
	// StateSize is the most bytes of the state of a cell of a step with keys.
	StateSize = 1000
	// LeastLease is the shortest lease: a process renews its leases by Tick.
	LeastLease = time.Second

	// keyedMembers is how many members may hold places of one key at one time: as many as fit
	// a slot.
	keyedMembers = 56
)

// Check returns what a step has that a Host does not perform, and what is allowed in its
// place. Both are empty for a step that it performs.
func Check(step *pipeline.Step) (found, allowed string) {
	c, ok := step.Config.(mechanism.Storable)
	if !ok {
		return "a step whose cells no store keeps", "a limit, a breaker or a bulkhead"
	}
	switch s := c.InStore(); {
	case s.Lease > 0 && s.Lease < LeastLease:
		return "a step with the lease " + s.Lease.String(), "a lease of at least " + LeastLease.String()
	case s.Newest:
		return "a step with the order newest, whose queue is one of all workers", "order oldest"
	case len(step.Per) == 0:
		return "", ""
	}
	if maker := makerOf(formOf(step)); maker != nil && maker.MaxSize() > StateSize {
		return "a step whose state has up to " + strconv.Itoa(maker.MaxSize()) + " bytes for each key",
			"beside per at most " + strconv.Itoa(StateSize) + " bytes"
	}
	return "", ""
}

// names of the step of a form.
const (
	oneName   = "one"
	keyedName = "keyed"
)

// formOf returns the form in which the store keeps the cells of a step, as plan bytes of one
// step: without keys and without what the host does. It returns nil for a step whose cells no
// store keeps, and for one that no plan has.
func formOf(step *pipeline.Step) []byte {
	c, ok := step.Config.(mechanism.Storable)
	if !ok {
		return nil
	}
	kept := pipeline.Step{Config: c.InStore().Config, Name: oneName}
	if len(step.Per) > 0 {
		kept.Name = keyedName
	}
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{kept}})
	if err != nil {
		return nil
	}
	return planbytes.Append(nil, plan)
}

// makerOf makes the cells of a form, nil for other bytes.
func makerOf(form []byte) cell.Maker {
	plan, err := planbytes.Compile(form)
	if err != nil || plan.Len() != 1 {
		return nil
	}
	step := plan.Settings(0)
	c, ok := step.Config.(interface {
		MemberCells(members uint32) (cell.Maker, error)
	})
	if !ok {
		return plan.Maker(0)
	}
	members := uint32(0)
	if step.Name == keyedName {
		members = keyedMembers
	}
	maker, err := c.MemberCells(members)
	if err != nil {
		return nil
	}
	return maker
}
