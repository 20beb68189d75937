package sluice

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/reducer"
)

// RejectedError says which step refused a call, and why.
type RejectedError = api.RejectedError

// ErrRejected matches every refusal by a policy with errors.Is.
var ErrRejected = api.ErrRejected

// TimeoutError says which timeout step cut a call.
type TimeoutError = api.TimeoutError

// RetryError says why a retry step gave up.
type RetryError = api.RetryError

// CancelError says that the caller cancelled.
type CancelError = api.CancelError

// InjectedError says that a chaos step ended an attempt in place of the dependency.
type InjectedError = api.InjectedError

// ErrInjected matches every failure that a chaos step injected with errors.Is.
var ErrInjected = api.ErrInjected

// Outcomer is implemented by errors that carry their outcome.
type Outcomer = api.Outcomer

// RetryAfterer is implemented by errors that carry a retry delay of the dependency.
type RetryAfterer = api.RetryAfterer

// UnknownPolicyError is the error of every call through a Pipeline that has no
// policy: one of a name that its Set does not have, or a nil or zero Pipeline.
type UnknownPolicyError struct {
	// Policy is the name, empty for a Pipeline that is nil or zero.
	Policy string
	// Nearest is the most similar name of a policy, empty when none is similar.
	Nearest string
}

// Error implements error.
func (e *UnknownPolicyError) Error() string {
	switch {
	case e.Policy == "":
		return "sluice: the pipeline is nil or zero: Load, Parse and New make one"
	case e.Nearest == "":
		return fmt.Sprintf("sluice: there is no policy %q", e.Policy)
	}
	return fmt.Sprintf("sluice: there is no policy %q; did you mean %q?", e.Policy, e.Nearest)
}

// Outcome implements Outcomer: Ignore. The mistake is in the program, so a retry
// cannot help.
func (e *UnknownPolicyError) Outcome() reducer.Outcome { return reducer.Ignore }

// zeroError is the error of a mechanism that no constructor made.
type zeroError string

const (
	errNoMechanism  zeroError = "sluice: a nil Mechanism; NewLimiter, NewBreaker, NewBulkhead and NewRetry make one"
	errZeroLimiter  zeroError = "sluice: a zero Limiter; NewLimiter makes one"
	errZeroBreaker  zeroError = "sluice: a zero Breaker; NewBreaker makes one"
	errZeroBulkhead zeroError = "sluice: a zero Bulkhead; NewBulkhead makes one"
	errZeroRetrier  zeroError = "sluice: a zero Retrier; NewRetry makes one"
	errZeroKeyed    zeroError = "sluice: a zero mechanism with keys; NewKeyedLimiter, NewKeyedBreaker, NewKeyedBulkhead and NewKeyedRetry make one"
	errZeroHedger   zeroError = "sluice: a zero Hedger; NewHedge makes one"
	errZeroExecutor zeroError = "sluice: a zero Executor; NewExecutor makes one"
	errZeroQueue    zeroError = "sluice: a zero Queue; NewQueue makes one"
)

// Error implements error.
func (e zeroError) Error() string { return string(e) }

// Outcome implements Outcomer: Ignore. The mistake is in the program, so a retry
// cannot help.
func (e zeroError) Outcome() reducer.Outcome { return reducer.Ignore }

// OutcomeError is an error that Ignore or Throttle marked, as a guarded function returned it.
// The mark stays, so that a policy around the one that returned the error counts it likewise;
// Err is the error itself, and has the same text. Where a comparison by == has to find the
// error, AbortOn or WithClassify says in its place what the error means, and it is returned
// as it is.
type OutcomeError struct {
	// Err is what was marked.
	Err error
	// Result is Ignore or Throttle.
	Result reducer.Outcome
	// After is the retry delay of a Throttle; a negative one asks for no retry.
	After time.Duration
}

// Error implements error: the text of Err.
func (e *OutcomeError) Error() string {
	if e.Err == nil {
		return "sluice: " + e.Result.String()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *OutcomeError) Unwrap() error { return e.Err }

// Outcome implements Outcomer: Result.
func (e *OutcomeError) Outcome() reducer.Outcome { return e.Result }

// RetryAfter implements RetryAfterer for a Throttle.
func (e *OutcomeError) RetryAfter() (after time.Duration, ok bool) {
	return e.After, e.Result == reducer.Throttle
}

// Ignore marks an error as neither success nor failure, for example a mistake of
// the caller: it is not retried, and breakers do not count it. The result is an
// *OutcomeError. Ignore(nil) is nil.
func Ignore(err error) error {
	if err == nil {
		return nil
	}
	return &OutcomeError{Err: err, Result: reducer.Ignore}
}

// Throttle marks an error as a refusal by the dependency's own limit: it is
// retried, not before retryAfter, and breakers do not count it. A negative retryAfter
// asks for no retry. The result is an *OutcomeError. Throttle(nil, d) is nil.
func Throttle(err error, retryAfter time.Duration) error {
	if err == nil {
		return nil
	}
	return &OutcomeError{Err: err, Result: reducer.Throttle, After: retryAfter}
}
