package sluice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// ErrRejected is what every refusal by a policy is, for errors.Is.
var ErrRejected = errors.New("sluice: rejected")

// RejectedError says which step refused a call, and why.
type RejectedError struct {
	Policy string // empty for a mechanism alone
	Step   string
	Reason reducer.Reason
	// Waited says that the call left the queue of the step without a permit.
	Waited bool
	// RetryAfter is the least time after which the step would not refuse the
	// same call if nothing else happened; negative where none is known.
	RetryAfter time.Duration
	// Err is the error of the last attempt, if there was one.
	Err error
}

// Error implements error.
func (e *RejectedError) Error() string {
	text := "sluice: " + place(e.Policy, e.Step) + ": rejected: " + e.Reason.String()
	if e.Waited {
		text += " (after waiting)"
	}
	if e.RetryAfter >= 0 {
		text += fmt.Sprintf(", retry after %s", e.RetryAfter)
	}
	return after(text, e.Err)
}

// Is makes errors.Is(err, ErrRejected) true.
func (e *RejectedError) Is(target error) bool { return target == ErrRejected }

// Unwrap returns the error of the last attempt.
func (e *RejectedError) Unwrap() error { return e.Err }

// TimeoutError says which timeout step cut a call. errors.Is with
// context.DeadlineExceeded is true.
type TimeoutError struct {
	Policy string
	Step   string // "deadline" for the caller's own
	// Err is what the function returned when it was cut, if it ran.
	Err error
}

// Error implements error.
func (e *TimeoutError) Error() string {
	return after("sluice: "+place(e.Policy, e.Step)+": timed out", e.Err)
}

// Is makes errors.Is(err, context.DeadlineExceeded) true.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout implements net.Error's method.
func (e *TimeoutError) Timeout() bool { return true }

// Unwrap returns what the function returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// RetryError says why a retry step gave up.
type RetryError struct {
	Policy string
	Step   string
	// Reason is attempts, pushback, deadline, open or budget.
	Reason reducer.Reason
	// Note is the caller's own reason not to retry, see Request.NoRetry.
	Note     string
	Attempts int
	// Err is the error of the last attempt.
	Err error
}

// Error implements error.
func (e *RetryError) Error() string {
	why := e.Reason.String()
	if e.Note != "" {
		why = e.Note
	}
	return fmt.Sprintf("sluice: %s: gave up after %d attempts (%s): %v", place(e.Policy, e.Step), e.Attempts, why, e.Err)
}

// Unwrap returns the error of the last attempt.
func (e *RetryError) Unwrap() error { return e.Err }

// CancelError says that the caller gave up after an attempt had failed.
type CancelError struct {
	Err  error // of the caller's context
	Last error // of the last attempt
}

// Error implements error.
func (e *CancelError) Error() string { return after(e.Err.Error(), e.Last) }

// Unwrap returns both errors.
func (e *CancelError) Unwrap() []error { return []error{e.Err, e.Last} }

func place(policy, step string) string {
	if policy == "" {
		return step
	}
	return policy + "." + step
}

func after(text string, err error) string {
	if err == nil {
		return text
	}
	return text + " (last attempt: " + err.Error() + ")"
}

// Outcomer is implemented by errors that carry their outcome.
type Outcomer interface{ Outcome() reducer.Outcome }

// RetryAfterer is implemented by errors that carry a retry delay of the
// dependency. A negative duration asks for no retry.
type RetryAfterer interface {
	RetryAfter() (after time.Duration, ok bool)
}

// classified is an error with an outcome.
type classified struct {
	error
	outcome       reducer.Outcome
	after         time.Duration
	hasRetryAfter bool
}

func (e *classified) Outcome() reducer.Outcome          { return e.outcome }
func (e *classified) RetryAfter() (time.Duration, bool) { return e.after, e.hasRetryAfter }
func (e *classified) Unwrap() error                     { return e.error }

// Ignore marks an error as neither success nor failure, for example the
// caller's own mistake: it is not retried and does not vote. Ignore(nil) is nil.
func Ignore(err error) error {
	if err == nil {
		return nil
	}
	return &classified{error: err, outcome: reducer.Ignore}
}

// Throttle marks an error as a refusal by the dependency's own limit: it is
// retried, not before retryAfter, and does not vote. A negative retryAfter asks
// for no retry. Throttle(nil, d) is nil.
func Throttle(err error, retryAfter time.Duration) error {
	if err == nil {
		return nil
	}
	return &classified{error: err, outcome: reducer.Throttle, after: retryAfter, hasRetryAfter: true}
}

// Classify implements runner.API.
func (s *settings) Classify(ctx context.Context, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration) {
	if err == nil {
		return reducer.OK, false, 0
	}
	var wish RetryAfterer
	if errors.As(err, &wish) {
		after, hasRetryAfter = wish.RetryAfter()
	}
	var own Outcomer
	switch {
	case errors.As(err, &own):
		return own.Outcome(), hasRetryAfter, after
	// An error that looks like a cancellation may be the attempt's own; only
	// the caller's context says who gave up.
	case errors.Is(ctx.Err(), context.Canceled):
		return reducer.Cancelled, false, 0
	case s.classify != nil:
		return s.classify(err), hasRetryAfter, after
	}
	return reducer.Fail, hasRetryAfter, after
}

// Rejected implements runner.API.
func (s *settings) Rejected(policy, step string, r runner.Rejection, last error) error {
	return &RejectedError{Policy: policy, Step: step, Reason: r.Reason, Waited: r.Waited, RetryAfter: r.RetryAfter, Err: last}
}

// TimedOut implements runner.API.
func (s *settings) TimedOut(policy, step string, last error) error {
	return &TimeoutError{Policy: policy, Step: step, Err: last}
}

// GaveUp implements runner.API.
func (s *settings) GaveUp(policy, step string, why reducer.Reason, note string, attempts int, last error) error {
	return &RetryError{Policy: policy, Step: step, Reason: why, Note: note, Attempts: attempts, Err: last}
}

// Cancelled implements runner.API.
func (s *settings) Cancelled(ctx context.Context, last error) error {
	err := ctx.Err()
	if err == nil || last == nil {
		return err
	}
	return &CancelError{Err: err, Last: last}
}
