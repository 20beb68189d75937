package nethttp

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
)

// Admission is what a Handler knows of a request that it let through.
type Admission struct {
	// Policy that guards the request.
	Policy string
	// Route is the host and the path of the route that matched; empty for a Handler
	// without routes.
	Route string
	// Limits are the enforced limits of the policy, in the order of its steps.
	Limits []Limit
}

// Limit is a limit as the request finds it when FromContext is called.
type Limit struct {
	// Step is its name.
	Step string
	// Most is how many permits can be free.
	Most uint32
	// Free permits.
	Free uint32
	// Next is the time until a permit is free; 0 when one is.
	Next time.Duration
	// Full is the time until all permits are free; 0 when they are.
	Full time.Duration
}

// FromContext returns what a Handler knows of the request whose context ctx is, or is
// made from. The Handler needs WithAdmission. ok is false without it, for a request that
// passes without a policy, and for one that no Handler guards. Of nested handlers with
// the option it is the inner one.
func FromContext(ctx context.Context) (a Admission, ok bool) {
	s, ok := ctx.Value(admissionKey{}).(*served)
	if !ok {
		return a, false
	}
	a.Policy, a.Route = s.guard.pipeline.Name(), s.identity.route
	a.Limits = guards.LimitsOf[Limit](s.guard.pipeline, &s.guard.view().View, s.identity.request())
	return a, true
}

type admissionKey struct{}

// admitted is the context of a request that a Handler let through.
type admitted struct {
	context.Context
	served *served
}

// Value implements context.Context.
func (c *admitted) Value(key any) any {
	if _, ok := key.(admissionKey); ok {
		return c.served
	}
	return c.Context.Value(key)
}

// identity is what of a request its limits depend on, and its route.
type identity struct {
	route  string
	key    string
	lookup func(attribute string) string
}

func (a *identity) request() sluice.Request { return sluice.Request{Key: a.key, Lookup: a.lookup} }
