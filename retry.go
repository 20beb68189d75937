package sluice

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Retrier retries calls, and shares a budget between them where it has one. It
// is safe for concurrent use. NewRetry makes one; a zero Retrier refuses every
// call.
type Retrier struct {
	*settings
	machine *retry.Machine
	budget  *runner.LockedCell // nil without one
	numbers atomic.Uint64
}

// NewRetry makes a retrier.
func NewRetry(c retry.Config, options ...Option) (*Retrier, error) {
	machine, err := retry.New(c.WithDefaults())
	if err != nil {
		return nil, err
	}
	s, err := newSettings("Retrier", optionClock|optionSeed|optionClassify, options)
	if err != nil {
		return nil, err
	}
	r := &Retrier{settings: s, machine: machine}
	if machine.Budget() != nil {
		r.budget = runner.NewLockedCell(machine.Budget().Cells().New(r.Now()), r.Now, false)
	}
	return r, nil
}

// Retry runs fn until it succeeds, fails in a way that is not worth another
// attempt, or the retrier gives up with a RetryError. A cancelled context ends
// it at once, also between attempts.
func Retry[T any](ctx context.Context, r *Retrier, fn func(context.Context) (T, error)) (T, error) {
	if r.settings == nil || ctx.Err() != nil {
		var zero T
		return zero, r.refusal(ctx)
	}
	if r.budget != nil {
		r.budget.Step(reducer.Action{Kind: reducer.Record}, r.Now())
	}
	state := retry.State{}
	seed := uint64(0)
	for {
		state.Attempt++
		value, err := fn(ctx)
		if err == nil {
			return value, nil
		}
		if seed == 0 {
			seed = r.Seed + r.numbers.Add(1)<<32
		}
		if err := r.next(ctx, &state, seed, err); err != nil {
			return value, err
		}
	}
}

// refusal returns the error of a call that makes no attempt.
func (r *Retrier) refusal(ctx context.Context) error {
	if r.settings == nil {
		return errZeroRetrier
	}
	return cancelled(ctx, nil)
}

// next waits for the next attempt, or returns why there is none.
func (r *Retrier) next(ctx context.Context, s *retry.State, seed uint64, err error) error {
	outcome, hasRetryAfter, after := r.Classify(ctx, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	now := r.Now()
	deadline := clock.Never
	if at, ok := ctx.Deadline(); ok {
		deadline = now.Add(time.Until(at))
	}
	next, verdict := r.machine.Next(*s, retry.End{Outcome: outcome, Told: hasRetryAfter, RetryAfter: after, Deadline: deadline, Seed: seed}, now)
	*s = next
	if verdict.Again && r.budget != nil && r.budget.Step(reducer.Action{Kind: reducer.Acquire}, now).Verdict != reducer.Admit {
		verdict.Again, verdict.Reason = false, reducer.ReasonBudget
	}
	switch {
	case verdict.Again:
	case verdict.Reason == reducer.NoReason:
		return err
	default:
		return &RetryError{Step: "retry", Reason: verdict.Reason, Attempts: int(s.Attempt), Err: err}
	}
	runner.Pause(ctx, verdict.Until.Sub(now))
	return cancelled(ctx, err)
}
