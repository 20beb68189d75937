package sluice

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Guard guards functions: a *Pipeline, a *Hedger or a Mechanism.
type Guard interface{ isGuard() }

func (p *Pipeline) isGuard() {}
func (r *Retrier) isGuard()  {}
func (h *Hedger) isGuard()   {}
func (l *Limiter) isGuard()  {}
func (b *Breaker) isGuard()  {}
func (b *Bulkhead) isGuard() {}

// Mechanism is a mechanism alone that runs functions on the goroutine of their caller: a
// *Limiter, a *Breaker, a *Bulkhead or a *Retrier. A *Hedger runs them on others, see Hedge.
type Mechanism interface {
	Guard
	// once returns the mechanism where it makes one attempt, nil for a Retrier.
	once() single
}

func (l *Limiter) once() single  { return l }
func (b *Breaker) once() single  { return b }
func (b *Bulkhead) once() single { return b }
func (r *Retrier) once() single  { return nil }

// single is a mechanism that admits an attempt and ends it.
type single interface {
	admit(ctx context.Context) (reducer.Permit, error)
	// classifies reports whether result needs the value.
	classifies() bool
	// result returns what the result of a function means, and the error of the caller.
	result(ctx context.Context, value any, err error) (meaning, error)
	settle(ctx context.Context, p reducer.Permit, m meaning, err error)
}

// meaning is what the result of a function means to a mechanism alone.
type meaning struct {
	outcome reducer.Outcome
	after   time.Duration // the retry-after of the answer, 0 for none
}

// Execute runs fn under a mechanism alone and returns its value, or why fn did not run. A
// limiter waits for a permit for Config.Wait at most, a bulkhead for a place as
// Bulkhead.Acquire. A breaker counts the result. A Retrier runs fn again as Retry does. A panic
// in fn releases what is held, counts as a failure and continues. Do is the same for a
// Pipeline, Hedge for a Hedger.
// A mechanism that is nil refuses every call.
func Execute[T any](ctx context.Context, m Mechanism, fn func(context.Context) (T, error)) (value T, err error) {
	if m == nil {
		return value, errNoMechanism
	}
	one := m.once()
	if one == nil {
		return Retry(ctx, m.(*Retrier), fn)
	}
	permit, err := one.admit(ctx)
	if err != nil {
		return value, err
	}
	means := meaning{outcome: reducer.Fail}
	defer func() { one.settle(ctx, permit, means, err) }()
	value, err = fn(ctx)
	means.outcome = runner.Unclassified(err) // where a classifier panics
	var boxed any
	if one.classifies() {
		boxed = value
	}
	means, err = one.result(ctx, boxed, err)
	return value, err
}

// Do is Execute for a function without a value: it waits for a permit, for Config.Wait at
// most, and runs fn.
func (l *Limiter) Do(ctx context.Context, fn func(context.Context) error) error {
	if err := l.enterCall(ctx); err != nil {
		return err
	}
	return fn(ctx)
}

// Do is Retry for a function without a value.
func (r *Retrier) Do(ctx context.Context, fn func(context.Context) error) error {
	_, err := Retry(ctx, r, func(ctx context.Context) (any, error) { return nil, fn(ctx) })
	return err
}

func (l *Limiter) admit(ctx context.Context) (reducer.Permit, error) {
	if l == nil {
		return reducer.Permit{}, errZeroLimiter
	}
	return reducer.Permit{}, l.enterCall(ctx)
}

func (l *Limiter) classifies() bool { return false }

func (l *Limiter) result(_ context.Context, _ any, err error) (meaning, error) {
	return meaning{outcome: reducer.OK}, err
}

func (l *Limiter) settle(context.Context, reducer.Permit, meaning, error) {}

func (b *Bulkhead) admit(ctx context.Context) (reducer.Permit, error) {
	if b == nil {
		return reducer.Permit{}, errZeroBulkhead
	}
	place, err := b.Acquire(ctx)
	return place.permit, err
}

func (b *Bulkhead) classifies() bool { return false }

func (b *Bulkhead) result(_ context.Context, _ any, err error) (meaning, error) {
	return meaning{outcome: reducer.OK}, err
}

func (b *Bulkhead) settle(_ context.Context, p reducer.Permit, _ meaning, _ error) {
	Place{b, p}.Release()
}

func (b *Breaker) admit(ctx context.Context) (reducer.Permit, error) {
	if b == nil {
		return reducer.Permit{}, errZeroBreaker
	}
	if ctx.Err() != nil {
		return reducer.Permit{}, runner.Cancelled(ctx, nil)
	}
	permit, ok, why, after, at := b.enter()
	if at != clock.Always {
		b.entered(ctx, ok, why, after, at)
	}
	if !ok && !b.passes() {
		return reducer.Permit{}, b.refusal(why, after)
	}
	return permit, nil
}

func (b *Breaker) classifies() bool { return b.settings.Classifier != nil }

func (b *Breaker) result(ctx context.Context, value any, err error) (meaning, error) {
	if err == nil && b.settings.Classifier == nil {
		return meaning{outcome: reducer.OK}, nil
	}
	outcome, told, after, last := b.settings.outcome(ctx, value, err)
	if b.settings.Classifier != nil && outcome != reducer.Cancelled {
		if own := runner.Classified(b.settings.Classifier("breaker", value, err)); own != 0 {
			outcome = own
		}
	}
	if !told {
		after = 0
	}
	return meaning{outcome, after}, last
}

func (b *Breaker) settle(ctx context.Context, p reducer.Permit, m meaning, err error) {
	if p.Generation == 0 {
		return
	}
	b.mu.Lock()
	if b.timed || b.events.listeners.HearsEnds() {
		b.recordAt(ctx, p, m, err)
	} else {
		b.record(p, m)
	}
}

// apply runs fn under a guard.
func apply[T any](ctx context.Context, g Guard, fn func(context.Context) (T, error)) (T, error) {
	switch g := g.(type) {
	case nil:
		return Do(ctx, nil, fn)
	case *Pipeline:
		return Do(ctx, g, fn)
	case *Hedger:
		return Hedge(ctx, g, fn)
	}
	return Execute(ctx, g.(Mechanism), fn)
}
