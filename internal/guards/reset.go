package guards

import (
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/pipeline"
)

// Reset returns the time of a limit that the field RateLimit has: until its next permit is
// free, or until all are. refused is the refusal that the answer reports, nil for none. The
// time of its step agrees with the time of the refusal.
func Reset(state sluice.LimitState, plan *pipeline.Plan, refused *sluice.RejectedError) time.Duration {
	switch {
	case refused != nil && refused.RetryAfter >= 0 && refused.Step == plan.StepName(state.Step):
		return refused.RetryAfter
	case state.Free == 0:
		return state.Next
	}
	return state.Full
}
