package guards

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// AttemptError is how an attempt ended, with its meaning: it implements sluice.Outcomer
// and sluice.RetryAfterer.
type AttemptError struct {
	Err    error
	Result reducer.Outcome
	// After is the delay that the dependency asked for, where HasAfter is set.
	After    time.Duration
	HasAfter bool
}

// Error implements error.
func (e *AttemptError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *AttemptError) Unwrap() error { return e.Err }

// Outcome returns what the error means.
func (e *AttemptError) Outcome() reducer.Outcome { return e.Result }

// RetryAfter returns the delay, and false for none.
func (e *AttemptError) RetryAfter() (time.Duration, bool) { return e.After, e.HasAfter }
