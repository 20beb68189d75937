package sluicegrpc

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
)

// Admission is what the interceptors of a server know of a call that they let through.
type Admission struct {
	// Policy that guards the call.
	Policy string
	// Route is the host and the path of the route that matched; empty for an interceptor
	// without routes.
	Route string
	// Limits are the enforced limits of the policy, in the order of its steps.
	Limits []Limit
}

// Limit is a limit as the call finds it when FromContext is called.
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

// FromContext returns what the interceptor of a server knows of the call whose context ctx
// is, or is made from. The interceptor needs WithAdmission. ok is false without it, for a
// call that passes without a policy, and for one that no interceptor guards. Of several
// interceptors with the option it is the inner one.
func FromContext(ctx context.Context) (a Admission, ok bool) {
	h, ok := ctx.Value(admissionKey{}).(*handled)
	if !ok {
		return a, false
	}
	a.Policy, a.Route = h.guard.pipeline.Name(), h.target.route
	a.Limits = guards.LimitsOf[Limit](h.guard.pipeline, &h.guard.view().View, sluice.Request{Key: h.asked.Key, Lookup: h.asked.Lookup})
	return a, true
}

type admissionKey struct{}
