package sluice

import (
	"context"

	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
)

// Hedger is a hedge alone: it starts an attempt beside one that takes long, and returns the
// first success, as a hedge step of a policy does. It is safe for concurrent use. NewHedge
// makes one; a zero Hedger refuses every call.
type Hedger struct{ pipeline *Pipeline }

// NewHedge makes a hedge. The step of its events and errors is "hedge".
func NewHedge(c hedge.Config, options ...Option) (*Hedger, error) {
	if _, err := newSettings("Hedger", optionClock|optionSeed|optionLogger|optionClassifies|optionRequestID|optionClassifyResult|optionAttemptInfo, options); err != nil {
		return nil, err
	}
	if _, err := hedge.New(c); err != nil {
		return nil, err
	}
	p, err := New(hedgePolicy(c), options...)
	if err != nil {
		return nil, err
	}
	return &Hedger{p}, nil
}

func hedgePolicy(c hedge.Config) pipeline.Policy {
	return pipeline.Policy{Steps: []pipeline.Step{{Config: c}}}
}

// Hedge runs fn, and runs it again beside itself when it takes long, and returns the first
// success. It is Do of a pipeline with a hedge step alone: every attempt has a goroutine of
// its own, and what the attempts that lose return is discarded.
func Hedge[T any](ctx context.Context, h *Hedger, fn func(context.Context) (T, error)) (value T, err error) {
	if h == nil || h.pipeline == nil {
		return value, errZeroHedger
	}
	return Do(ctx, h.pipeline, fn)
}

// Do is Hedge for a function without a value.
func (h *Hedger) Do(ctx context.Context, fn func(context.Context) error) error {
	if h == nil || h.pipeline == nil {
		return errZeroHedger
	}
	return Run(ctx, h.pipeline, fn)
}

// Listen calls f for every event of the hedge, or for events of the given kinds, as
// Pipeline.Listen does. stop ends it.
func (h *Hedger) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	if h == nil {
		return func() {}
	}
	return h.pipeline.Listen(f, kinds...)
}

// Configure changes the active hedge: what it has measured stays, as the policy reference
// says. An error changes nothing.
func (h *Hedger) Configure(c hedge.Config) error {
	if h == nil || h.pipeline == nil {
		return errZeroHedger
	}
	if _, err := hedge.New(c); err != nil {
		return err
	}
	return h.pipeline.Configure(hedgePolicy(c))
}
