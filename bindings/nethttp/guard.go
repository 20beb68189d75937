package nethttp

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// guard is a pipeline with what is worked out once for each of its plans.
type guard struct {
	pipeline *sluice.Pipeline
	seen     atomic.Pointer[view]
}

// view is what a plan says to HTTP, immutable.
type view struct {
	plan   *pipeline.Plan
	retry  bool
	hedge  bool     // that is not in shadow
	keyed  bool     // a step asks for attributes
	quotas []string // the steps whose refusals mean that the caller asked too much
	limits []limitView
	policy []string // the RateLimit-Policy header; whoever adds to it copies it
}

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
		return &view{} // of a pipeline that refuses every request
	}
	v := &view{plan: plan, retry: plan.RetryIndex() >= 0}
	h := plan.HedgeIndex()
	v.hedge = h >= 0 && !plan.Shadow(h)
	v.limits = limitViews(plan)
	v.policy = slices.Clip([]string{policyHeader(v.limits)})
	for i := range plan.Len() {
		v.keyed = v.keyed || len(plan.Step(i).Per) > 0
		if mechanisms.Row(plan.Kind(i)).Traits.Has(mechanism.Quotas) {
			v.quotas = append(v.quotas, plan.StepName(i))
		}
	}
	return v
}

// outcomes returns what answers mean to a pipeline: the option's, the
// document's, or the default.
func (s *settings) outcomesOf(p *sluice.Pipeline) *policy.Outcomes {
	if s.outcomes != nil {
		return s.outcomes
	}
	if own := p.Document(); own != nil {
		return &own.Outcomes
	}
	return &defaultOutcomes
}

// methodsOf returns what a pipeline repeats.
func (s *settings) methodsOf(p *sluice.Pipeline) []string {
	if s.methods != nil {
		return s.methods
	}
	if own := p.Document(); own != nil {
		return own.Methods
	}
	return defaultMethods
}

// hedgedOf returns the methods of which a pipeline sends a second request beside
// the first.
func (s *settings) hedgedOf(p *sluice.Pipeline) []string {
	if own := p.Document(); own != nil && s.methods == nil {
		return own.HedgeMethods
	}
	return s.methodsOf(p)
}

var defaultMethods = document.DefaultMethods()

// source finds the guard of a request: always the same, or by the routes of a
// document.
type source struct {
	one    *guard
	set    *sluice.Set
	routes atomic.Pointer[table]
}

// table is the routes of one document, immutable.
type table struct {
	doc    *policy.Document
	guards map[*policy.Route]*guard
}

// find returns the guard of a request and the route that led to it, nil for a
// request that passes untouched.
func (s *source) find(host, method, path string) (*guard, string) {
	if s.set == nil {
		return s.one, ""
	}
	t := s.table()
	route := t.doc.Match(host, method, path)
	if route == nil {
		return nil, ""
	}
	return t.guards[route], route.Host + route.Path
}

// table returns the routes of the document in force. A document that changes
// while its pipelines are looked up is looked at again.
func (s *source) table() *table {
	t := s.routes.Load()
	for {
		doc := s.set.Document()
		if t != nil && t.doc == doc {
			s.routes.Store(t)
			return t
		}
		t = &table{doc: doc, guards: make(map[*policy.Route]*guard, len(doc.Routes))}
		byName := map[string]*guard{}
		for i := range doc.Routes {
			r := &doc.Routes[i]
			if byName[r.Policy] == nil {
				byName[r.Policy] = newGuard(s.set.Pipeline(r.Policy))
			}
			t.guards[r] = byName[r.Policy]
		}
	}
}

// guards returns those that there are now.
func (s *source) guards() []*guard {
	if s.set == nil {
		return []*guard{s.one}
	}
	var list []*guard
	seen := map[*guard]bool{nil: true}
	t := s.table()
	for i := range t.doc.Routes {
		if g := t.guards[&t.doc.Routes[i]]; !seen[g] {
			seen[g] = true
			list = append(list, g)
		}
	}
	return list
}

type (
	policyKey  struct{}
	inboundKey struct{}
	detailsKey struct{}
)

// WithPolicy makes a Transport guard the requests of this context with p in
// place of its own policy.
func WithPolicy(ctx context.Context, p *sluice.Pipeline) context.Context {
	return context.WithValue(ctx, policyKey{}, newGuard(p))
}

// WithoutPolicy makes a Transport let the requests of this context pass untouched.
func WithoutPolicy(ctx context.Context) context.Context {
	return context.WithValue(ctx, policyKey{}, (*guard)(nil))
}

// WithInbound makes a Transport choose the route of the requests of this
// context, and take their attributes, from the request that came in: for
// proxies, which rewrite the one that goes out.
func WithInbound(ctx context.Context, in *http.Request) context.Context {
	return context.WithValue(ctx, inboundKey{}, in)
}
