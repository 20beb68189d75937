package sluice

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Retrier retries calls, and shares a budget between them where it has one. It
// is safe for concurrent use. NewRetry makes one; a zero Retrier refuses every
// call.
type Retrier struct {
	settings *settings
	events   emitter
	machine  *retry.Machine
	budget   *runner.LockedCell // nil without one
	tallies  bool               // the budget counts how attempts end, not first attempts
	numbers  atomic.Uint64
}

// NewRetry makes a retrier. It waits for the refusals of the policies and mechanisms that
// a function calls, and has no steps of its own: c.Refusals means the same as in a policy.
func NewRetry(c retry.Config, options ...Option) (*Retrier, error) {
	if err := aloneRefusals(c); err != nil {
		return nil, err
	}
	machine, err := retry.New(c.WithDefaults())
	if err != nil {
		return nil, err
	}
	s, err := newSettings("Retrier", optionClock|optionSeed|optionClassifies|optionLogger|optionRequestID|optionClassifyResult|optionAttemptInfo|optionDelay|optionShadow, options)
	if err != nil {
		return nil, err
	}
	r := &Retrier{settings: s, machine: machine}
	r.events.begin("retry", s)
	if machine.Budget() != nil {
		r.budget = runner.NewLockedCell(machine.Budget().Cells().New(r.settings.Now()), r.settings.Now, false, nil)
		r.tallies = machine.Budget().CountsEnds()
	}
	return r, nil
}

// aloneRefusals checks what a retrier does with the refusals of steps below it.
func aloneRefusals(c retry.Config) error {
	if c.Refusals != retry.EndRefused {
		return reducer.BadCount("refusals", uint64(c.Refusals), "EndRefused: a retrier has no steps below it")
	}
	return nil
}

// Retry runs fn until it succeeds, fails in a way that is not worth another
// attempt, or the retrier gives up with a RetryError. A cancelled context ends
// it at once, also between attempts.
func Retry[T any](ctx context.Context, r *Retrier, fn func(context.Context) (T, error)) (T, error) {
	if r == nil || r.settings == nil || ctx.Err() != nil {
		var zero T
		return zero, r.refusal(ctx)
	}
	if r.budget != nil && !r.tallies {
		r.budget.Step(reducer.Action{Kind: reducer.Record}, r.settings.Now())
	}
	c := retrying{began: clock.Always, heard: r.events.on()}
	if c.heard || r.settings.Informs || r.settings.Delay != nil || r.machine.Bounded() {
		c.began = r.settings.Now()
	}
	for {
		c.state.Attempt++
		if c.heard {
			r.started(ctx, &c)
		}
		value, err := fn(r.informed(ctx, &c))
		if err == nil && r.settings.Classifier == nil {
			if r.tallies {
				r.tally(&c, reducer.OK)
			}
			if c.heard {
				r.succeeded(ctx, &c)
			}
			return value, nil
		}
		var result any
		if r.settings.Classifier != nil {
			result = value
		}
		if again, err := r.next(ctx, &c, result, err); !again {
			return value, err
		}
	}
}

// started emits that an attempt starts. Inlined, its event would be in the frame of Retry,
// which every call would clear.
//
//go:noinline
func (r *Retrier) started(ctx context.Context, c *retrying) {
	r.report(ctx, c, &Event{Kind: decision.Admit})
}

// succeeded emits that an attempt ended its call with a success.
//
//go:noinline
func (r *Retrier) succeeded(ctx context.Context, c *retrying) {
	r.report(ctx, c, &Event{Kind: decision.End, Outcome: reducer.OK})
}

// retrying is a call under a Retrier.
type retrying struct {
	state retry.State
	seed  uint64 // 0 before the first failure
	last  error  // of the attempt before
	// earlier has the errors of all attempts before the present one.
	earlier runner.Earlier
	began   clock.Mark // where attempts are informed, their time is bounded, or the call has events or a delay of its own
	heard   bool       // the call has events
	took    uint64     // what the budget took for the attempt
}

// tally counts how an attempt ended in a token-bucket budget.
func (r *Retrier) tally(c *retrying, outcome reducer.Outcome) {
	r.budget.Step(reducer.Action{Kind: reducer.Release, Outcome: outcome}.Returning(c.took), r.settings.Now())
}

// informed returns the context of the next attempt.
func (r *Retrier) informed(ctx context.Context, c *retrying) context.Context {
	if !r.settings.Informs {
		return ctx
	}
	return r.settings.Informed(ctx, c.state.Attempt, c.last, c.began)
}

// report emits an event of a call that has events.
func (r *Retrier) report(ctx context.Context, c *retrying, e *Event) {
	if !c.heard {
		return
	}
	now := r.settings.Now()
	e.Attempt, e.Elapsed = c.state.Attempt, now.Sub(c.began)
	r.events.emit(ctx, now, e)
}

// refusal returns the error of a call that makes no attempt.
func (r *Retrier) refusal(ctx context.Context) error {
	if r == nil || r.settings == nil {
		return errZeroRetrier
	}
	return runner.Cancelled(ctx, nil)
}

// next waits for the next attempt and reports that it follows, or returns the error of
// the call.
func (r *Retrier) next(ctx context.Context, c *retrying, value any, err error) (again bool, _ error) {
	outcome, hasRetryAfter, after, err := r.settings.outcome(ctx, value, err)
	if r.settings.Delay != nil {
		hasRetryAfter, after = r.settings.Delayed(ctx, c.state.Attempt, false, err, c.began, outcome, hasRetryAfter, after)
	}
	end := Event{Kind: decision.End, Outcome: outcome, Err: err}
	if r.tallies {
		r.tally(c, outcome)
	}
	if err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.report(ctx, c, &end)
		return false, err
	}
	if c.seed == 0 {
		c.seed = r.settings.Seed + r.numbers.Add(1)<<32
	}
	now := r.settings.Now()
	deadline := clock.Never
	if at, ok := ctx.Deadline(); ok {
		deadline = now.Add(time.Until(at))
	}
	next, verdict := r.machine.Next(c.state, retry.End{Outcome: outcome, Told: hasRetryAfter, RetryAfter: after, Deadline: deadline, Began: c.began, Seed: c.seed}, now)
	c.state = next
	if verdict.Again && r.budget != nil {
		answer := r.budget.Step(reducer.Action{Kind: reducer.Acquire, Outcome: outcome, Cost: c.state.Attempt - 1}, now)
		if c.took = answer.Took(); answer.Verdict != reducer.Admit {
			verdict.Again, verdict.Reason = false, reducer.ReasonBudget
		}
	}
	switch {
	case verdict.Again:
		r.report(ctx, c, &Event{
			Kind: decision.Retry, Outcome: outcome, Reason: reducer.CauseOf(outcome), Wait: verdict.Until.Sub(now), Err: err,
		})
		if r.settings.shadow {
			return false, err
		}
	case verdict.Reason == reducer.NoReason:
		r.report(ctx, c, &end)
		return false, err
	default:
		end.Reason = verdict.Reason
		r.report(ctx, c, &end)
		if r.settings.shadow {
			return false, err
		}
		return false, &RetryError{Step: "retry", Reason: verdict.Reason, Attempts: int(c.state.Attempt), Err: err, Earlier: c.earlier.List()}
	}
	runner.Pause(ctx, verdict.Until.Sub(now))
	if over := runner.Cancelled(ctx, err); over != nil {
		end.Outcome, end.Err = reducer.Cancelled, over
		r.report(ctx, c, &end)
		return false, over
	}
	c.last = err
	c.earlier.Add(err)
	return true, nil
}

// outcome returns what a result means to a mechanism alone, and the error of the attempt.
func (s *settings) outcome(ctx context.Context, value any, err error) (o reducer.Outcome, hasRetryAfter bool, after time.Duration, last error) {
	if s.Classifier != nil {
		return s.ClassifyResult(ctx, s.Classifier, "", value, err)
	}
	o, hasRetryAfter, after = s.Classify(ctx, err)
	return o, hasRetryAfter, after, err
}
