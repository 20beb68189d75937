package guards

import (
	"slices"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/refusals"
)

// View is what a plan says to every protocol, immutable. Its zero value is the view of a
// pipeline that refuses every call.
type View struct {
	Plan   *pipeline.Plan
	Retry  bool
	Hedge  bool // that is not in shadow
	Keyed  bool // a step asks for attributes
	Obeys  bool // a breaker obeys the time that a failed answer names
	Quotas []string
	Limits []refusals.Limit
	// Policy has the value of RateLimit-Policy for all limits, to be copied before it is
	// appended to.
	Policy []string
}

// NewView returns what a plan says.
func NewView(plan *pipeline.Plan) View {
	if plan == nil {
		return View{}
	}
	h, limits := plan.HedgeIndex(), refusals.Limits(plan)
	v := View{
		Plan: plan, Retry: plan.RetryIndex() >= 0, Hedge: h >= 0 && !plan.Shadow(h), Keyed: len(plan.Attributes()) > 0, Obeys: plan.Obeys(),
		Limits: limits, Policy: slices.Clip([]string{refusals.PolicyField(limits)}),
	}
	for i := range plan.Len() {
		if mechanisms.Row(plan.Kind(i)).Traits.Has(mechanism.Quotas) {
			v.Quotas = append(v.Quotas, plan.StepName(i))
		}
	}
	return v
}

// IsQuota reports whether a refusal by a step means that the caller asked too much.
func (v *View) IsQuota(step string) bool { return slices.Contains(v.Quotas, step) }

// MissingOf returns what a step does with a call that lacks its attributes.
func (v *View) MissingOf(step string) pipeline.Missing {
	if v.Plan != nil {
		for i := range v.Plan.Len() {
			if v.Plan.StepName(i) == step {
				return v.Plan.Step(i).Missing
			}
		}
	}
	return pipeline.MissingShare // of another policy
}

// Idle calls f with the steps that have no effect where a call runs once: their mechanism
// and their name.
func (v *View) Idle(f func(mechanism, step string)) {
	if v.Retry {
		f("retry", v.Plan.StepName(v.Plan.RetryIndex()))
	}
	if v.Hedge {
		f("hedge", v.Plan.StepName(v.Plan.HedgeIndex()))
	}
}

// PolicyOf returns the values of RateLimit-Policy for the limits that apply to a call. These
// are the limits of the states: Policy, unless one is missing.
func (v *View) PolicyOf(states []sluice.LimitState) []string {
	has := func(step int) bool {
		return slices.ContainsFunc(states, func(state sluice.LimitState) bool { return state.Step == step })
	}
	for i := range v.Limits {
		if !has(v.Limits[i].Step) {
			return []string{refusals.PolicyFieldOf(v.Limits, has)}
		}
	}
	return v.Policy
}

// Views keeps what is worked out of the latest plan of a pipeline. V is the view of a
// binding.
type Views[V any] struct{ latest atomic.Pointer[viewed[V]] }

type viewed[V any] struct {
	plan *pipeline.Plan
	view V
}

// Of returns the view of the active plan, which work fills in once for each plan.
func (x *Views[V]) Of(p *sluice.Pipeline, work func(*V, *pipeline.Plan)) *V {
	plan := p.Plan()
	latest := x.latest.Load()
	if latest == nil || latest.plan != plan {
		latest = &viewed[V]{plan: plan}
		work(&latest.view, plan)
		x.latest.Store(latest)
	}
	return &latest.view
}
