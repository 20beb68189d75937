package sluice

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/durations"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/policy"
)

// Pipeline is an active policy: its steps with their state. It is safe for
// concurrent use.
//
// A Pipeline has no policy when it is nil or zero, or when its Set does not have the
// name. It then refuses every call with the error of Err.
type Pipeline struct {
	engine  *runner.Pipeline    // nil without a policy
	missing *UnknownPolicyError // nil for a zero Pipeline and with a policy
}

// compiled compiles a policy of Go values, in which keys without effect are an error, as in
// a document.
func compiled(p pipeline.Policy) (*pipeline.Plan, error) {
	plan, err := pipeline.Compile(p)
	if err != nil {
		return nil, err
	}
	for i := range plan.Len() {
		if len(plan.Per(i)) > 0 && plan.Maker(i) == nil {
			return nil, &pipeline.StepError{Index: i, Kind: plan.Kind(i), Err: fmt.Errorf("per: found %q; allowed on a step that keeps a state", plan.Per(i))}
		}
	}
	return plan, nil
}

// New activates a policy.
func New(p pipeline.Policy, options ...Option) (*Pipeline, error) {
	set, err := newSettings("Pipeline", ^optionShadow, options)
	if err != nil {
		return nil, err
	}
	return activate(p, set)
}

// activate is New with settings.
func activate(p pipeline.Policy, set *settings) (*Pipeline, error) {
	plan, err := compiled(p.WithEpoch(set.Epoch))
	if err != nil {
		return nil, err
	}
	if set.shared == nil {
		set.shared = new(runner.Mechanisms)
	}
	made := newPipeline(runner.New(plan.Name(), &set.Settings, set.shared), set)
	events, err := made.engine.Configure(plan, origin{})
	if err != nil {
		return nil, err
	}
	events.EmitAll()
	return made, nil
}

// origin is what a policy comes from; zero for a policy made of Go values.
type origin struct {
	policy   *policy.Policy
	document *policy.Document
}

func newPipeline(engine *runner.Pipeline, s *settings) *Pipeline {
	p := &Pipeline{engine: engine}
	if s.Logger != nil {
		debugs := func() bool { return s.Logger.Enabled(context.Background(), slog.LevelDebug) }
		engine.ListenIf(logs(s.Logger), debugs, loggedKinds()...)
	}
	return p
}

// Err returns nil for a pipeline with a policy, else an UnknownPolicyError, with
// which it refuses every call.
func (p *Pipeline) Err() error {
	switch {
	case p != nil && p.engine != nil:
		return nil
	case p == nil || p.missing == nil:
		return &UnknownPolicyError{}
	}
	return p.missing
}

// Name returns the policy's name, or the one that there is no policy of.
func (p *Pipeline) Name() string {
	if plan := p.Plan(); plan != nil {
		return plan.Name()
	}
	if p == nil || p.missing == nil {
		return ""
	}
	return p.missing.Policy
}

// Plan returns the compiled active policy, nil for a pipeline without a policy.
func (p *Pipeline) Plan() *pipeline.Plan {
	if p.Err() != nil {
		return nil
	}
	plan, _ := p.engine.Bound()
	return plan
}

// Document returns the policy as its document has it, with settings that are not
// steps, such as the outcomes of HTTP answers. It must not be changed. It is nil for a
// policy that was made of Go values and for a pipeline without a policy.
func (p *Pipeline) Document() *policy.Policy {
	return p.origin().policy
}

// HTTP returns the section http of the policy document, which must not be changed;
// nil for a policy that was made of Go values and for a pipeline without a policy.
func (p *Pipeline) HTTP() *policy.HTTP {
	if document := p.origin().document; document != nil {
		return &document.HTTP
	}
	return nil
}

func (p *Pipeline) origin() origin {
	if p.Err() != nil {
		return origin{}
	}
	_, about := p.engine.Bound()
	return about.(origin)
}

// Fallback returns the policy's fallback, nil for none. It is an HTTP answer, which
// bindings/nethttp writes. Do returns the error in any case, because only its caller
// knows a value that can replace the answer, as FallbackOf makes one; Event.Fallback
// marks the calls whose answer the fallback replaces.
func (p *Pipeline) Fallback() *fallback.Config {
	if plan := p.Plan(); plan != nil {
		return plan.Fallback()
	}
	return nil
}

// Listen calls f for every event, or for events of the given kinds, on the goroutine that
// caused it, without any lock held: f may call back. stop ends it and touches no other
// listener; f may still be called for an event that is being emitted.
//
// A listener that blocks holds up the call whose event it was called with, and no other
// one. The panic of a listener does not end the call: the listener is logged, see
// WithLogger, and removed. A listener that is nil gets nothing.
func (p *Pipeline) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	if f == nil || p.Err() != nil {
		return func() {}
	}
	return p.engine.Listen(f, kinds...)
}

// Observer gets the events of pipelines, the events of most calls as the few fields that
// metrics need.
type Observer = api.Observer

// Observe gives o every event, as Listen does for a function. An observer that is nil gets
// nothing.
func (p *Pipeline) Observe(o Observer) (stop func()) {
	if o == nil || p.Err() != nil {
		return func() {}
	}
	return p.engine.Observe(o)
}

// Configure replaces the active policy. Calls that run keep the one under
// which they began. Steps are matched by name, mechanism and keys, and keep
// their state as the policy reference says under configure. An error changes
// nothing.
func (p *Pipeline) Configure(next pipeline.Policy) error {
	if err := p.Err(); err != nil {
		return err
	}
	plan, err := compiled(next.WithEpoch(p.engine.Epoch))
	if err != nil {
		return err
	}
	events, err := p.engine.Configure(plan, origin{})
	if err != nil {
		return err
	}
	events.EmitAll()
	return nil
}

// ErrSnapshot is wrapped by the errors of Restore for what is not a snapshot.
var ErrSnapshot = runner.ErrSnapshot

// Snapshot returns the state of the steps: limiters, breakers and budgets with
// their keys, and the keys that Handle.Block blocks. Places and waiters belong to this process and are not in it. Another
// process restores it under the same policy or a similar one; the time between the
// two counts as passed, with the precision of the wall clock. The state of a mechanism that
// policies share is in the snapshot of each of them.
func (p *Pipeline) Snapshot() []byte {
	if p.Err() != nil {
		return nil
	}
	return p.engine.Snapshot()
}

// Restore replaces the states of the steps by the states of a snapshot. It skips steps that the
// policy does not have or has with another mechanism or algorithm, and keys beyond the maximum.
// It is for the start of a process: waiters of a restored step are refused with ReasonFull, and
// permits of running calls do not count in the restored state. An error changes nothing.
func (p *Pipeline) Restore(src []byte) error {
	if err := p.Err(); err != nil {
		return err
	}
	return p.engine.Restore(src)
}

// StepState is the state of a step at one moment, for people and gauges.
type StepState = api.StepState

// WaitBounds returns the bounds of StepState.WaitTimes, from 500 µs to 1 min.
func WaitBounds() []time.Duration { return durations.Bounds() }

// State returns the state of the steps that have one, in order.
func (p *Pipeline) State() []StepState {
	if p.Err() != nil {
		return nil
	}
	return p.engine.State()
}

// LimitState is a limit step as one request finds it.
type LimitState = api.LimitState

// Limits appends, for every limit step in order, the state of the cell that the
// request belongs to. It takes nothing and creates no cell.
func (p *Pipeline) Limits(q Request, dst []LimitState) []LimitState {
	if p.Err() != nil {
		return dst
	}
	return p.engine.Limits(&q, dst)
}
