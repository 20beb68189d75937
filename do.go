package sluice

import (
	"context"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Request is what a call brings with it.
type Request = api.Request

// NoCost is the cost of a call that takes nothing from any limiter.
const NoCost = api.NoCost

// Do runs fn under the policy and returns its value, or why the policy did not run fn
// or gave up: a RejectedError, TimeoutError, InjectedError, RetryError or
// CancelError, or fn's own error. fn runs on the caller's goroutine, once for each attempt, with
// a context that ends with the attempt. A timeout is cooperative: breakers count it
// at its mark, but the call holds its places until fn returns. A panic in fn releases
// what is held, counts as a failure and continues.
func Do[T any](ctx context.Context, p *Pipeline, fn func(context.Context) (T, error)) (T, error) {
	return DoWith(ctx, p, Request{}, fn)
}

// DoWith is Do for a request with a key, a cost or attributes.
func DoWith[T any](ctx context.Context, p *Pipeline, q Request, fn func(context.Context) (T, error)) (T, error) {
	if p == nil || p.engine == nil {
		var zero T
		return zero, p.Err()
	}
	return runner.Do(ctx, p.engine, &q, fn)
}

// Hold keeps the bulkhead places and the context of the attempt whose function
// got ctx beyond the function's end, until release is called; further calls do
// nothing. The deadlines of the policy no longer cut what is held. It is for
// answers that are still read when the function has returned, and works where
// Request.Holdable is set; elsewhere release does nothing. When another attempt
// follows, or the function panics, the runner releases automatically.
func Hold(ctx context.Context) (release func()) { return runner.Hold(ctx, false) }

// HoldTimed is Hold with the deadlines of the policy: at the first of them, and where the
// caller's context ends, the context of the attempt ends, with a TimeoutError as its cause
// for a deadline of the policy, and what is held is released. The attempt is not told or
// counted again.
func HoldTimed(ctx context.Context) (release func()) { return runner.Hold(ctx, true) }

// Extend has the attempt whose function got ctx go on beyond the function's end, until
// done is called with its outcome, once and on any goroutine; further calls do nothing.
// Until then the deadlines of the policy hold, places are held, and breakers measure. Do returns
// the value of the function before, so no retry follows, whatever the outcome. It is for
// answers whose bodies are a part of the call. Where done is never called, the places
// are never released.
//
// Extend works where Request.Holdable is set and the function succeeds, and not in a
// call that is hedged; elsewhere the attempt ends with its function, and done does
// nothing.
func Extend(ctx context.Context) (done func(outcome reducer.Outcome)) { return runner.Extend(ctx) }

// ErrHedgeLost is the cause, for context.Cause, with which the context of an attempt
// ends when another attempt of its round has won. Its error is context.Canceled.
var ErrHedgeLost = runner.ErrHedgeLost

// AttemptOf returns the number of the attempt whose function got ctx, from 1 on, and
// whether it is a hedge: one that was started beside another. ok is false in a call
// that is not hedged, whose attempts follow one another.
func AttemptOf(ctx context.Context) (number uint32, hedge, ok bool) { return runner.AttemptOf(ctx) }

// Used says how many permits the attempt whose function got ctx has used so far, as the
// tokens of an answer; the last call before the function returns counts. Limits above the
// attempt with `charge: settle` or `charge: end` take that in place of the cost. It returns
// false where no step of the policy settles; after the attempt it has no effect.
func Used(ctx context.Context, n uint32) bool { return runner.Used(ctx, n) }

// Renew restarts the leases of the bulkhead places that the attempt whose function got
// ctx holds, and reports whether it still held all of them. It returns false where the
// attempt has no place under a lease, and when the attempt is over and not held.
func Renew(ctx context.Context) bool { return runner.Renew(ctx) }
