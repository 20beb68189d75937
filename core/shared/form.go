package shared

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
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
	_, found, allowed = keep(step)
	return found, allowed
}

// kept is a step whose cells the store keeps.
type kept struct {
	mechanism.InStore
	// form is the step in plan bytes of one step: without keys and without what the host does.
	form  []byte
	maker cell.Maker
}

// names of the step of a form.
const (
	oneName   = "one"
	keyedName = "keyed"
)

// keep returns a step in the form in which the store keeps its cells, and what Check does.
func keep(step *pipeline.Step) (k kept, found, allowed string) {
	in, ok := mechanisms.InStore(step.Config)
	if !ok {
		return k, "a step whose cells no store keeps", "a limit, a breaker or a bulkhead"
	}
	one := pipeline.Step{Config: in.Config, Name: oneName}
	if len(step.Per) > 0 {
		one.Name = keyedName
	}
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{one}})
	if err != nil {
		return k, err.Error(), "a valid step"
	}
	k.InStore, k.form = in, planbytes.Append(nil, plan)
	k.maker = makerOf(k.form)
	size := k.maker.MaxSize()
	switch {
	case in.Lease > 0 && in.Lease < LeastLease:
		found, allowed = "a step with the lease "+in.Lease.String(), "a lease of at least "+LeastLease.String()
	case in.Newest:
		found, allowed = "a step with the order newest, whose queue is one of all workers", "order oldest"
	case len(step.Per) > 0 && size > StateSize:
		found = "a step whose state has up to " + strconv.Itoa(size) + " bytes for each key"
		allowed = "beside per at most " + strconv.Itoa(StateSize) + " bytes"
	}
	return k, found, allowed
}

// makerOf makes the cells of a form, nil for other bytes.
func makerOf(form []byte) cell.Maker {
	plan, err := planbytes.Compile(form)
	if err != nil || plan.Len() != 1 {
		return nil
	}
	step := plan.Settings(0)
	members := uint32(0)
	if step.Name == keyedName {
		members = keyedMembers
	}
	if maker := mechanisms.MemberCells(step.Config, members); maker != nil {
		return maker
	}
	return plan.Maker(0)
}
