package sluicegrpc

import (
	"slices"
	"strings"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/internal/refusals"
	"github.com/sluice-go/sluice/policy/document"
)

// guard is a pipeline with what is worked out once for each of its plans.
type guard struct {
	pipeline *sluice.Pipeline
	views    guards.Views[view]
}

// view is what a plan says to gRPC, immutable.
type view struct {
	guards.View
	headers []string
}

func newGuard(p *sluice.Pipeline) *guard { return &guard{pipeline: p} }

func (g *guard) view() *view { return g.views.Of(g.pipeline, (*view).fill) }

func (v *view) fill(plan *pipeline.Plan) {
	v.View = guards.NewView(plan)
	if plan == nil {
		return // of a pipeline that refuses every call
	}
	for _, attribute := range plan.Attributes() {
		if name, ok := strings.CutPrefix(attribute, "header:"); ok {
			v.headers = append(v.headers, name)
		}
	}
}

// fields returns the value of ratelimit, empty for none. refused is the refusal that the
// answer reports, nil for none, with whose time the value agrees.
func (v *view) fields(states []sluice.LimitState, refused *sluice.RejectedError) string {
	var b []byte
	for _, state := range states {
		at := slices.IndexFunc(v.Limits, func(l refusals.Limit) bool { return l.Step == state.Step })
		if at < 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = v.Limits[at].Append(b, uint64(state.Free), refusals.CeilSeconds(guards.Reset(state, v.Plan, refused)))
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
