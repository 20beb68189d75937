package guards

import (
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/refusals"
)

// Limit is a limit as a call finds it. The public types of the bindings have its fields.
type Limit struct {
	Step       string
	Most, Free uint32
	Next, Full time.Duration
}

// LimitsOf returns the enforced limits of a pipeline as a request finds them now. v is the
// view of its plan.
func LimitsOf[L ~struct {
	Step       string
	Most, Free uint32
	Next, Full time.Duration
}](p *sluice.Pipeline, v *View, q sluice.Request) (list []L) {
	if v.Plan == nil {
		return nil
	}
	for _, state := range p.Limits(q, nil) {
		// A document that changes meanwhile may have other steps.
		if state.Step >= v.Plan.Len() || v.Plan.Shadow(state.Step) {
			continue
		}
		list = append(list, L(Limit{v.Plan.StepName(state.Step), refusals.PermitsOf(v.Plan, state.Step).Burst, state.Free, state.Next, state.Full}))
	}
	return list
}
