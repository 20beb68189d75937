package sluicegrpc

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/refusals"
)

// guard is a pipeline with what is worked out once for each of its plans.
type guard struct {
	pipeline *sluice.Pipeline
	seen     atomic.Pointer[view]
}

// view is what a plan says to gRPC, immutable.
type view struct {
	plan    *pipeline.Plan
	retry   []step // none or one
	hedge   []step // that is not in shadow, none or one
	keyed   bool   // a step asks for attributes
	headers []string
	quotas  []string // the steps whose refusals mean that the caller asked too much
	limits  []refusals.Limit
	policy  []string // the value of ratelimit-policy
}

type step struct{ kind, name string }

func newGuard(p *sluice.Pipeline) *guard { return &guard{pipeline: p} }

func (g *guard) view() *view {
	plan := g.pipeline.Plan()
	v := g.seen.Load()
	if v == nil || v.plan != plan {
		v = newView(plan)
		g.seen.Store(v)
	}
	return v
}

func newView(plan *pipeline.Plan) *view {
	if plan == nil {
		return &view{} // of a pipeline that refuses every call
	}
	v := &view{plan: plan, limits: refusals.Limits(plan)}
	v.policy = []string{refusals.PolicyField(v.limits)}
	if i := plan.RetryIndex(); i >= 0 {
		v.retry = []step{{"retry", plan.StepName(i)}}
	}
	if i := plan.HedgeIndex(); i >= 0 && !plan.Shadow(i) {
		v.hedge = []step{{"hedge", plan.StepName(i)}}
	}
	for _, attribute := range plan.Attributes() {
		v.keyed = true
		if name, ok := strings.CutPrefix(attribute, "header:"); ok {
			v.headers = append(v.headers, name)
		}
	}
	for i := range plan.Len() {
		if mechanisms.Row(plan.Kind(i)).Traits.Has(mechanism.Quotas) {
			v.quotas = append(v.quotas, plan.StepName(i))
		}
	}
	return v
}

// policyOf returns the values of ratelimit-policy for some limits.
func (v *view) policyOf(states []sluice.LimitState) []string {
	return guards.PolicyOf(v.limits, v.policy, states)
}

// fields returns the value of ratelimit, empty for none. refused is the refusal that the
// answer reports, nil for none, with whose time the value agrees.
func (v *view) fields(states []sluice.LimitState, refused *sluice.RejectedError) string {
	var b []byte
	for _, state := range states {
		at := slices.IndexFunc(v.limits, func(l refusals.Limit) bool { return l.Step == state.Step })
		if at < 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = v.limits[at].Append(b, uint64(state.Free), refusals.CeilSeconds(guards.Reset(state, v.plan, refused)))
	}
	return string(b)
}

var defaultMethods = document.DefaultMethods()

// methodsOf returns the methods of HTTP that a pipeline repeats, and those that it hedges.
func methodsOf(p *sluice.Pipeline) (repeated, hedged []string) {
	if own := p.Document(); own != nil {
		return own.Methods, own.HedgeMethods
	}
	return defaultMethods, defaultMethods
}
