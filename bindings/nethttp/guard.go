package nethttp

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/guards"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// guard is a pipeline with what is worked out once for each of its plans.
type guard struct {
	pipeline *sluice.Pipeline
	views    guards.Views[view]
}

// view is what a plan says to HTTP, immutable.
type view struct {
	guards.View
	timed      bool                                       // a timeout may end the context of a request
	holds      bool                                       // an attempt holds a place
	sent       []string                                   // the attributes that a client may send twice
	rejections atomic.Pointer[map[rejectionOf]*rejection] // copied on a change
	rate       atomic.Pointer[rejection]                  // of the only limit, by its rate; nil before the first
	slow       time.Duration                              // the shortest time after which a breaker counts an answer as slow, 0 for none
}

func newGuard(p *sluice.Pipeline) *guard { return &guard{pipeline: p} }

// fallbackOf returns the fallback of the policy for a request, nil for none and for no policy.
// Its body is no message of gRPC, so a request of gRPC gets the refusal or the answer
// itself.
func (g *guard) fallbackOf(r *http.Request) *fallback.Config {
	if g == nil || isGRPC(r.Header) {
		return nil
	}
	return g.pipeline.Fallback()
}

func (g *guard) view() *view { return g.views.Of(g.pipeline, (*view).fill) }

func (v *view) fill(plan *pipeline.Plan) {
	v.View = guards.NewView(plan)
	if plan == nil {
		return // of a pipeline that refuses every request
	}
	for _, attribute := range plan.Attributes() {
		if strings.Contains(attribute, ":") {
			v.sent = append(v.sent, attribute)
		}
	}
	for i := range plan.Len() {
		if plan.Shadow(i) {
			continue
		}
		row := mechanisms.Row(plan.Kind(i))
		v.timed = v.timed || row.Traits.Has(mechanism.Cuts)
		v.holds = v.holds || row.Traits.Has(mechanism.Holds)
		slow := mechanisms.Facts(plan.Kind(i)).Slow
		if slow == nil {
			continue
		}
		if over := slow(plan.Settings(i).Config); over > 0 && (v.slow == 0 || over < v.slow) {
			v.slow = over
		}
	}
}

// slowed reports whether an answer to a request that began at a time is slow for a
// breaker because the client took its time over the body.
func (v *view) slowed(began time.Time, now func() time.Time, waited time.Duration) bool {
	if v.slow == 0 || waited == 0 || began.IsZero() {
		return false
	}
	took := now().Sub(began)
	return took > v.slow && took-waited <= v.slow
}

// boundsOf returns how long a client may take: as the option says, as the document
// of the route or of the pipeline does, or the default.
func (s *settings) boundsOf(to target) *policy.HTTP {
	switch {
	case s.http != nil:
		return s.http
	case to.http != nil:
		return to.http
	case to.guard != nil:
		if own := to.guard.pipeline.HTTP(); own != nil {
			return own
		}
	}
	return &defaultHTTP
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
