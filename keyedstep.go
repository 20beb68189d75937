package sluice

import (
	"context"
	"iter"
	"strconv"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// KeyedMechanism is a mechanism with a state for each key: a *KeyedBreaker, a *KeyedBulkhead
// or a *KeyedRetrier.
type KeyedMechanism interface {
	guarded(key string) (*Pipeline, Request)
}

// ExecuteKey runs fn under the state of a key and returns its value, or why fn did not run, as
// Execute does for a mechanism with one state.
func ExecuteKey[T any](ctx context.Context, m KeyedMechanism, key string, fn func(context.Context) (T, error)) (T, error) {
	if m == nil {
		var zero T
		return zero, errNoMechanism
	}
	p, q := m.guarded(key)
	if p == nil {
		var zero T
		return zero, errZeroKeyed
	}
	return DoWith(ctx, p, q, fn)
}

// keyedStep is a mechanism with a state for each key: a pipeline of one step, whose
// configuration is a C.
type keyedStep[C mechanism.Config] struct {
	pipeline *Pipeline // nil for a zero one, which refuses every call
	step     pipeline.Step
}

// newKeyedStep makes a mechanism that no key has used.
func newKeyedStep[C mechanism.Config](made string, effective optionSet, c C, options []Option) (keyedStep[C], error) {
	s, err := newSettings(made, effective|optionClock|optionMaxKeys|optionLogger|optionRequestID|optionShadow, options)
	if err != nil {
		return keyedStep[C]{}, err
	}
	k := keyedStep[C]{step: pipeline.Step{Config: c, Name: c.Kind().String(), Shadow: s.shadow, Per: []string{"key"}}}
	if s.MaxKeys > 0 {
		k.step.Keys = uint32(min(s.MaxKeys, keyed.MaxKeys))
	}
	k.pipeline, err = activate(k.policy(c), s)
	return k, err
}

// policy returns the policy of a configuration.
func (k *keyedStep[C]) policy(c C) pipeline.Policy {
	step := k.step
	step.Config = c
	return pipeline.Policy{Steps: []pipeline.Step{step}}
}

func (k *keyedStep[C]) guarded(key string) (*Pipeline, Request) {
	return k.pipeline, Request{Key: key}
}

// Do runs fn under the state of the key, as ExecuteKey.
func (k *keyedStep[C]) Do(ctx context.Context, key string, fn func(context.Context) error) error {
	p, q := k.guarded(key)
	if p == nil {
		return errZeroKeyed
	}
	_, err := DoWith(ctx, p, q, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

// Configure changes the active settings of all keys, as Pipeline.Configure does. An error
// changes nothing.
func (k *keyedStep[C]) Configure(c C) error { return k.pipeline.Configure(k.policy(c)) }

// Listen calls f for every event, or for events of the given kinds, as Pipeline.Listen does.
func (k *keyedStep[C]) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	return k.pipeline.Listen(f, kinds...)
}

// Key returns the handle of a key for an operator. A key without a state gets one where the
// handle changes it.
func (k *keyedStep[C]) Key(key string) Handle { return k.pipeline.Step(k.step.Name).Key(key) }

// State returns the state of the key, and false for a key without one. Reading does not count
// as a use of the key.
func (k *keyedStep[C]) State(key string) (CellState, bool) {
	s, err := k.Key(key).State()
	return s.CellState, err == nil && s.Own
}

// Keys ranges over the keys that have a state, as Pipeline.Keys does.
func (k *keyedStep[C]) Keys() iter.Seq2[string, CellState] { return k.pipeline.Keys(k.step.Name) }

// Reset makes the state of the key a new one. It returns false where the key has none.
func (k *keyedStep[C]) Reset(key string) bool {
	_, ok := k.State(key)
	return ok && k.Key(key).Reset() == nil
}

// Evict forgets the key. It returns false where the key has no state, and where a call waits or
// holds something there.
func (k *keyedStep[C]) Evict(key string) bool { return k.Key(key).Forget() == nil }

// Snapshot returns the states of the keys, as Pipeline.Snapshot does.
func (k *keyedStep[C]) Snapshot() []byte { return k.pipeline.Snapshot() }

// Restore replaces the states by the states of a snapshot, as Pipeline.Restore does.
func (k *keyedStep[C]) Restore(src []byte) error { return k.pipeline.Restore(src) }

// KeyedBreaker is a circuit breaker for each key, bounded in memory by WithMaxKeys. It is safe
// for concurrent use. NewKeyedBreaker makes one; a zero KeyedBreaker refuses every call.
type KeyedBreaker struct{ keyedStep[breaker.Config] }

// NewKeyedBreaker makes a breaker that no key has used.
func NewKeyedBreaker(c breaker.Config, options ...Option) (*KeyedBreaker, error) {
	k, err := newKeyedStep("KeyedBreaker", optionClassifies|optionClassifyResult, c, options)
	if err != nil {
		return nil, err
	}
	return &KeyedBreaker{k}, nil
}

func (b *KeyedBreaker) guarded(key string) (*Pipeline, Request) {
	if b == nil {
		return nil, Request{}
	}
	return b.keyedStep.guarded(key)
}

// Acquire begins a call of the key that is not a function. The caller ends it with Call.Done
// and Call.Release. The error is a RejectedError or the error of the context.
func (b *KeyedBreaker) Acquire(ctx context.Context, key string) (*Call, error) {
	return b.pipeline.Begin(ctx, Request{Key: key})
}

// Mode returns the state of the breaker of the key, the state of a new breaker where the key
// has none.
func (b *KeyedBreaker) Mode(key string) breaker.Mode {
	s, _ := b.Key(key).State()
	return s.Mode
}

// Transition moves the breaker of the key by hand, as Breaker.Transition does. It returns false
// where the key has none.
func (b *KeyedBreaker) Transition(key string, to breaker.Mode) bool {
	_, ok := b.State(key)
	return ok && b.Key(key).Transition(to) == nil
}

// KeyedBulkhead bounds for each key how many run at once. It is bounded in memory by
// WithMaxKeys, and safe for concurrent use. NewKeyedBulkhead makes one; a zero KeyedBulkhead
// refuses every call.
type KeyedBulkhead struct{ keyedStep[bulkhead.Config] }

// keyedCost is the attribute of a call that has its cost.
const keyedCost = "header:cost"

// NewKeyedBulkhead makes a bulkhead that no key has used.
func NewKeyedBulkhead(c bulkhead.Config, options ...Option) (*KeyedBulkhead, error) {
	c, err := keyedBulkhead(c)
	if err != nil {
		return nil, err
	}
	k, err := newKeyedStep("KeyedBulkhead", 0, c, options)
	if err != nil {
		return nil, err
	}
	return &KeyedBulkhead{k}, nil
}

// keyedBulkhead returns the configuration with the cost of the call.
func keyedBulkhead(c bulkhead.Config) (bulkhead.Config, error) {
	if c.Cost != (limiter.Cost{}) {
		return c, reducer.BadCount("cost", uint64(c.Cost.Permits), "in a pipeline alone; here AcquireN has the cost")
	}
	c.Cost = limiter.Cost{Attribute: keyedCost, Permits: 1}
	return c, nil
}

func (b *KeyedBulkhead) guarded(key string) (*Pipeline, Request) {
	if b == nil {
		return nil, Request{}
	}
	return b.keyedStep.guarded(key)
}

// Acquire takes a place of the key, waiting for one where the configuration has a queue. The
// caller returns it with Call.Release. The error is a RejectedError or the error of the
// context.
func (b *KeyedBulkhead) Acquire(ctx context.Context, key string) (*Call, error) {
	return b.AcquireN(ctx, key, 1)
}

// AcquireN is Acquire for n places, which are granted together. 0 counts as 1.
func (b *KeyedBulkhead) AcquireN(ctx context.Context, key string, n uint32) (*Call, error) {
	q := Request{Key: key}
	if n > 1 {
		cost := strconv.FormatUint(uint64(n), 10)
		q.Cost = n // of the events
		q.Lookup = func(attribute string) string {
			if attribute == keyedCost {
				return cost
			}
			return ""
		}
	}
	return b.pipeline.Begin(ctx, q)
}

// Configure changes the active bulkheads: holders keep their places. An error changes nothing.
func (b *KeyedBulkhead) Configure(c bulkhead.Config) error {
	c, err := keyedBulkhead(c)
	if err != nil {
		return err
	}
	return b.keyedStep.Configure(c)
}

// KeyedRetrier retries calls under a budget for each key, so that the failures of one key take
// no retries from another. It is bounded in memory by WithMaxKeys, and safe for concurrent
// use. NewKeyedRetry makes one; a zero KeyedRetrier refuses every call.
type KeyedRetrier struct{ keyedStep[retry.Config] }

// NewKeyedRetry makes a retrier whose budget no key has used. A budget (c.Budgeted and c.Budget)
// is required, and c.Refusals must be EndRefused, as for NewRetry.
func NewKeyedRetry(c retry.Config, options ...Option) (*KeyedRetrier, error) {
	if !c.Budgeted {
		return nil, reducer.BadCount("budget", 0, "a budget, which is what each key has: Budgeted and Budget")
	}
	if err := aloneRefusals(c); err != nil {
		return nil, err
	}
	k, err := newKeyedStep("KeyedRetrier", optionSeed|optionClassifies|optionClassifyResult|optionAttemptInfo|optionDelay, c, options)
	if err != nil {
		return nil, err
	}
	return &KeyedRetrier{k}, nil
}

func (r *KeyedRetrier) guarded(key string) (*Pipeline, Request) {
	if r == nil {
		return nil, Request{}
	}
	return r.keyedStep.guarded(key)
}
