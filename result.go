package sluice

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/reducer"
)

// MapResult returns fn with another result: f gets the value and the error of each call and
// returns what the caller gets. Around a guarded function it sees the final result of the call,
// inside one the result of each attempt.
func MapResult[T, U any](fn func(context.Context) (T, error), f func(value T, err error) (U, error)) func(context.Context) (U, error) {
	return func(ctx context.Context) (U, error) { return f(fn(ctx)) }
}

// Fallback replaces the result of a call that ended with an error. FallbackTo,
// FallbackOn, FallbackAs, FallbackIf and FallbackOf make one; a zero Fallback replaces
// nothing.
type Fallback[T any] struct {
	matches func(error) bool
	replace func(ctx context.Context, err error) (T, error)
}

// FallbackTo replaces every error by a value.
func FallbackTo[T any](value T) Fallback[T] {
	return Fallback[T]{
		func(error) bool { return true },
		func(context.Context, error) (T, error) { return value, nil },
	}
}

// FallbackOn replaces an error that errors.Is finds to be the target, as ErrRejected.
func FallbackOn[T any](target error, f func(ctx context.Context, err error) (T, error)) Fallback[T] {
	return Fallback[T]{func(err error) bool { return errors.Is(err, target) }, f}
}

// FallbackAs replaces an error that errors.As finds to be an E, as *TimeoutError, and
// calls f with that.
func FallbackAs[E error, T any](f func(ctx context.Context, err E) (T, error)) Fallback[T] {
	return Fallback[T]{
		func(err error) bool {
			var e E
			return errors.As(err, &e)
		},
		func(ctx context.Context, err error) (T, error) {
			var e E
			errors.As(err, &e)
			return f(ctx, e)
		},
	}
}

// FallbackIf replaces an error for which matches returns true.
func FallbackIf[T any](matches func(error) bool, f func(ctx context.Context, err error) (T, error)) Fallback[T] {
	return Fallback[T]{matches, f}
}

// FallbackOf replaces what the fallback of the active policy replaces: a refusal, but not of
// a call that the policy denies, and an error whose outcome is fail, throttle or timeout. answer makes a value of the fallback
// that the policy document has. Where the policy has none, nothing is replaced. Which
// outcome an error has is what WithClassify and Outcomer say.
func FallbackOf[T any](p *Pipeline, answer func(FallbackConfig) (T, error)) Fallback[T] {
	covered := func(err error) bool {
		if p.Fallback() == nil {
			return false
		}
		// Of this policy: what one inside the function ended with is an outcome.
		var refused *RejectedError
		if errors.As(err, &refused) && refused.Policy == p.Name() {
			return refused.Reason != reducer.ReasonDenied
		}
		var gaveUp *RetryError
		if errors.As(err, &gaveUp) && gaveUp.Policy == p.Name() {
			return true
		}
		outcome, _, _ := p.engine.Classify(context.Background(), err)
		return fallback.Covers(outcome)
	}
	return Fallback[T]{covered, func(_ context.Context, err error) (T, error) {
		c := p.Fallback()
		if c == nil {
			var zero T
			return zero, err // the policy changed meanwhile
		}
		return answer(*c)
	}}
}

// OrElse replaces the error of a call by the first fallback that matches it. When that
// one fails, its error and the one that it was to replace are a FallbackError, which the
// fallbacks behind it may match, by either of the two. Without an error, and where no
// fallback matches, the result stays. A caller that has cancelled gets no fallback.
func OrElse[T any](ctx context.Context, value T, err error, chain ...Fallback[T]) (T, error) {
	for i := range chain {
		f := &chain[i]
		if err == nil || errors.Is(ctx.Err(), context.Canceled) {
			break
		}
		if f.matches == nil || !f.matches(err) {
			continue
		}
		other, failed := f.replace(ctx, err)
		if value = other; failed != nil {
			failed = &FallbackError{Err: failed, Replaced: err}
		}
		err = failed
	}
	return value, err
}

// WrapFallback returns fn, which may be a guarded function, with fallbacks, as OrElse.
func WrapFallback[T any](fn func(context.Context) (T, error), chain ...Fallback[T]) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		value, err := fn(ctx)
		return OrElse(ctx, value, err, chain...)
	}
}

// FallbackError says that a fallback failed.
type FallbackError struct {
	Err      error // of the fallback
	Replaced error // that it was to replace
}

// Error implements error.
func (e *FallbackError) Error() string {
	return fmt.Sprintf("sluice: the fallback failed: %v (in place of: %v)", e.Err, e.Replaced)
}

// Unwrap returns both errors.
func (e *FallbackError) Unwrap() []error { return []error{e.Err, e.Replaced} }
