package retry

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
)

// MaxAttempts is the most attempts of a call.
const MaxAttempts = 1_000

// Config is the configuration of a retry.
type Config struct {
	// Attempts in all, the first included. 1 to MaxAttempts.
	Attempts uint32
	// Backoff between attempts.
	Backoff backoff.Config
	// Budgeted says that Budget holds.
	Budgeted bool
	// Budget for retries, shared by all calls of the step.
	Budget budget.Config
}
