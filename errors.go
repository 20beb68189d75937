package sluice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/runner"
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
// errors.Is and errors.As find the errors of the last attempt first, and then those of
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

// cancelled returns the error of a caller whose context is over, nil for one
// whose context is not.
func cancelled(ctx context.Context, last error) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); last != nil || cause != err {
		return &CancelError{Err: err, Cause: cause, Last: last}
	}
	return err
}

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

// Outcomer is implemented by errors that carry their outcome. An error whose outcome is 0, or
// another value that is no outcome, is as one that carries none.
type Outcomer interface{ Outcome() reducer.Outcome }

// RetryAfterer is implemented by errors that carry a retry delay of the
// dependency. A negative duration asks for no retry.
type RetryAfterer interface {
	RetryAfter() (after time.Duration, ok bool)
}

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

// Classify implements runner.API.
func (s *settings) Classify(ctx context.Context, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration) {
	if err == nil {
		return reducer.OK, false, 0
	}
	var own Outcomer
	outcomer := errors.As(err, &own)
	inner, refused := own.(*RejectedError)
	_, late := own.(*TimeoutError)
	var carrier RetryAfterer
	switch {
	case late: // what an attempt inside asked for before the cut is none of the timeout's
	case refused:
		after, hasRetryAfter = inner.Delay()
	case errors.As(err, &carrier):
		after, hasRetryAfter = carrier.RetryAfter()
	}
	if outcomer && !(s.classifies() && (refused || late)) {
		if o = runner.Classified(own.Outcome()); o != 0 {
			return o, hasRetryAfter, after
		}
	}
	// An error that looks like a cancellation may be the attempt's own; only
	// the caller's context says whether the caller cancelled.
	if errors.Is(ctx.Err(), context.Canceled) {
		return reducer.Cancelled, false, 0
	}
	if s.classifies() {
		if o = s.meaning(err, refused || late); o != 0 {
			return o, hasRetryAfter, after
		}
		if refused || late {
			return own.Outcome(), hasRetryAfter, after
		}
	}
	return reducer.Fail, hasRetryAfter, after
}

// ClassifyResult implements runner.API.
func (s *settings) ClassifyResult(ctx context.Context, classify Classifier, step string, value any, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration, last error) {
	o, hasRetryAfter, after = s.Classify(ctx, err)
	if o == reducer.Cancelled {
		return o, hasRetryAfter, after, err
	}
	if other := runner.Classified(classify(step, value, err)); other != 0 {
		o = other
	}
	if err != nil || o != reducer.Fail && o != reducer.Throttle {
		return o, hasRetryAfter, after, err
	}
	if carrier, ok := value.(RetryAfterer); ok {
		after, hasRetryAfter = carrier.RetryAfter()
	}
	return o, hasRetryAfter, after, &ResultError{Result: o}
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
func (s *settings) GaveUp(policy, step string, why reducer.Reason, note string, attempts int, last error, earlier []error) error {
	return &RetryError{Policy: policy, Step: step, Reason: why, Note: note, Attempts: attempts, Err: last, Earlier: earlier}
}

// Injected implements runner.API.
func (s *settings) Injected(policy, step string, o reducer.Outcome, after time.Duration) error {
	return &InjectedError{Policy: policy, Step: step, Result: o, After: after}
}

// Panicked implements runner.API.
func (s *settings) Panicked(policy string, attempt uint32, value any, stack []byte) {
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(context.Background(), slog.LevelError, "sluice: an attempt panicked", slog.String("policy", policy),
		slog.Uint64("attempt", uint64(attempt)), slog.Any("value", value), slog.String("stack", string(stack)))
}

// ListenerPanicked implements runner.API.
func (s *settings) ListenerPanicked(value any, stack []byte) {
	logger := s.logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(context.Background(), slog.LevelError, "sluice: a listener panicked and was removed",
		slog.Any("value", value), slog.String("stack", string(stack)))
}

// Cancelled implements runner.API.
func (s *settings) Cancelled(ctx context.Context, last error) error {
	return cancelled(ctx, last)
}
