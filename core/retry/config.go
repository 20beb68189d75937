package retry

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
)

// MaxAttempts is the most attempts of a call.
const MaxAttempts = 1_000

// Refusals says what follows when a step below the retry refuses an attempt.
type Refusals uint8

const (
	// EndRefused ends the call with the refusal.
	EndRefused Refusals = iota
	// WaitRefused waits where the refusal has a retry-after: it uses up one of the
	// attempts, and the next one starts not before that time. The call ends with the
	// refusal where none follows.
	WaitRefused
)

// Config is the configuration of a retry.
type Config struct {
	// Attempts in all, the first included. 1 to MaxAttempts.
	Attempts uint32
	// Backoff between attempts.
	Backoff backoff.Config
	// MaxElapsed: no attempt starts that long or longer after the call reached the
	// retry. One that runs goes on. 0 for no bound.
	MaxElapsed time.Duration
	// Refusals says what follows a refusal by a step below the retry.
	Refusals Refusals
	// Budgeted says that Budget holds.
	Budgeted bool
	// Budget for retries, shared by all calls of the step.
	Budget budget.Config
}
