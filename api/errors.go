package api

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// ErrRejected matches every refusal by a policy with errors.Is.
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

// Outcome implements Outcomer for a policy or mechanism around the one that
// refused: Throttle, so that the outer one retries it, not before RetryAfter, and
// does not count it. Where no retry can help it is not retried: a cost above the
// capacity, a turn after the deadline of the caller itself, a call that the policy
// denies, or one that lacks what it is counted by.
func (e *RejectedError) Outcome() reducer.Outcome { return reducer.Throttle }

// Delay returns the retry delay, negative where no retry can help. It is RetryAfter of
// a RetryAfterer under another name, because a field has that name.
func (e *RejectedError) Delay() (after time.Duration, ok bool) {
	if e.RetryAfter >= 0 {
		return e.RetryAfter, true
	}
	switch e.Reason {
	case reducer.ReasonCapacity, reducer.ReasonDeadline, reducer.ReasonDenied, reducer.ReasonMissing:
		return -1, true
	}
	return -1, false
}

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

// Outcome implements Outcomer for a policy around the one that timed out: Fail.
func (e *TimeoutError) Outcome() reducer.Outcome { return reducer.Fail }

// Unwrap returns what the function returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// RetryError says why a retry step gave up.
//
// errors.Is and errors.As find the errors of the last attempt first, and then the errors of
// Earlier. How an attempt ended is asked of the last one alone: ErrRejected, ErrInjected,
// context.DeadlineExceeded and context.Canceled, the error types of this module, and
// interfaces, as an Outcomer or one with a method Timeout.
type RetryError struct {
	Policy string
	Step   string
	// Reason is attempts, pushback, deadline, elapsed, open or budget.
	Reason reducer.Reason
	// Note is the caller's own reason not to retry, see Request.NoRetry.
	Note     string
	Attempts int
	// Err is the error of the last attempt.
	Err error
	// Earlier are the errors of the attempts before, in their order: of more than four the
	// first two and the latest two.
	Earlier []error
}

// Error implements error.
func (e *RetryError) Error() string {
	why := e.Reason.String()
	if e.Note != "" {
		why = e.Note
	}
	noun := "attempts"
	if e.Attempts == 1 {
		noun = "attempt"
	}
	return fmt.Sprintf("sluice: %s: gave up after %d %s (%s): %v", place(e.Policy, e.Step), e.Attempts, noun, why, e.Err)
}

// Unwrap returns the error of the last attempt.
func (e *RetryError) Unwrap() error { return e.Err }

// Is lets errors.Is find the errors of Earlier.
func (e *RetryError) Is(target error) bool {
	switch target {
	case ErrRejected, ErrInjected, context.DeadlineExceeded, context.Canceled:
		return false
	}
	return slices.ContainsFunc(e.Earlier, func(err error) bool { return errors.Is(err, target) })
}

// As lets errors.As find the errors of Earlier, the latest of them first.
func (e *RetryError) As(target any) bool {
	if asksHow(reflect.TypeOf(target).Elem()) {
		return false
	}
	if errors.As(e.Err, target) {
		return true
	}
	for _, err := range slices.Backward(e.Earlier) {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}

// asksHow reports whether a type asks how an attempt ended: an interface or a type of this
// module.
func asksHow(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return true
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	const own = "github.com/sluice-go/sluice"
	return t.PkgPath() == own || strings.HasPrefix(t.PkgPath(), own+"/")
}

// CancelError says that the caller cancelled. It adds to the error of the caller's
// context its cause and the error of the last attempt.
type CancelError struct {
	Err   error // of the caller's context
	Cause error // of the caller's context, see context.Cause; Err where it has no other
	Last  error // of the last attempt, nil before the first
}

// Error implements error.
func (e *CancelError) Error() string {
	text := fmt.Sprint(e.Err)
	if e.Cause != e.Err {
		text += ": " + fmt.Sprint(e.Cause)
	}
	return after(text, e.Last)
}

// Unwrap returns the errors that are present.
func (e *CancelError) Unwrap() []error {
	all := []error{e.Err}
	if e.Cause != e.Err {
		all = append(all, e.Cause)
	}
	if e.Last != nil {
		all = append(all, e.Last)
	}
	return all
}

// Outcome implements Outcomer for a policy around the one whose caller cancelled:
// Cancelled.
func (e *CancelError) Outcome() reducer.Outcome { return reducer.Cancelled }

// ErrInjected matches every failure that a chaos step injected with errors.Is.
var ErrInjected = errors.New("sluice: injected")

// InjectedError says that a chaos step ended an attempt in place of the dependency. The
// function did not run in this attempt.
type InjectedError struct {
	Policy string
	Step   string
	// Result is the injected outcome: Fail, Throttle or Ignore.
	Result reducer.Outcome
	// After is the retry delay of a Throttle, 0 for none.
	After time.Duration
}

// Error implements error.
func (e *InjectedError) Error() string {
	text := "sluice: " + place(e.Policy, e.Step) + ": injected: " + e.Result.String()
	if e.After > 0 {
		text += fmt.Sprintf(", retry after %s", e.After)
	}
	return text
}

// Is makes errors.Is(err, ErrInjected) true.
func (e *InjectedError) Is(target error) bool { return target == ErrInjected }

// Outcome implements Outcomer: Result, so that a policy around this one counts the
// failure as this one does.
func (e *InjectedError) Outcome() reducer.Outcome { return e.Result }

// RetryAfter implements RetryAfterer.
func (e *InjectedError) RetryAfter() (after time.Duration, ok bool) { return e.After, e.After > 0 }

// ResultError is the error of an attempt whose function returned a value without an
// error, where a Classifier called it a failure. The value is returned beside it.
type ResultError struct {
	// Result is Fail or Throttle.
	Result reducer.Outcome
}

// Error implements error.
func (e *ResultError) Error() string {
	return "sluice: the value was classified as " + e.Result.String()
}

// Outcome implements Outcomer: Result, for a policy around this one.
func (e *ResultError) Outcome() reducer.Outcome { return e.Result }

// HandleError says why a Handle could not read or change a step.
type HandleError struct {
	Policy string
	Step   string
	Action string // one of the actions, or state
	Err    error
}

// Error implements error.
func (e *HandleError) Error() string {
	return fmt.Sprintf("sluice: %s: %s: %v", place(e.Policy, e.Step), e.Action, e.Err)
}

// Unwrap returns the cause.
func (e *HandleError) Unwrap() error { return e.Err }

// Outcomer is implemented by errors that carry their outcome. An error whose outcome is 0, or
// another value that is no outcome, is as one that carries none.
type Outcomer interface{ Outcome() reducer.Outcome }

// RetryAfterer is implemented by errors that carry a retry delay of the
// dependency. A negative duration asks for no retry.
type RetryAfterer interface {
	RetryAfter() (after time.Duration, ok bool)
}

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
