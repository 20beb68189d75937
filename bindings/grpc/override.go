package sluicegrpc

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/guards"
)

type (
	policyKey   struct{}
	overrideKey struct{}
)

// WithPolicy has the interceptors of a client guard the calls of this context with p in
// place of their own policy.
func WithPolicy(ctx context.Context, p *sluice.Pipeline) context.Context {
	return context.WithValue(ctx, policyKey{}, newGuard(p))
}

// WithoutPolicy has the interceptors of a client let the calls of this context pass
// untouched.
func WithoutPolicy(ctx context.Context) context.Context {
	return context.WithValue(ctx, policyKey{}, (*guard)(nil))
}

// Override is what differs for some calls of a client. What is zero is as without it. The
// policy of a call is changed by WithPolicy and WithoutPolicy.
type Override struct {
	// Key is the attribute "key", in place of the one from WithKey.
	Key string
	// Cost is how many permits of a limit each attempt takes, in place of the one from
	// WithCost; sluice.NoCost takes none.
	Cost uint32
	// NoRetry is a reason to make the call once, without a retry and without a hedge, as
	// in "the user waits". Details.NoRetry has it.
	NoRetry string
	// Timeout bounds the call as a deadline of its context does, up to the answer's end;
	// the earlier of the two counts.
	Timeout time.Duration
	// Attempts caps the attempts of this call below the limit of the policy.
	Attempts uint32
}

// WithOverride changes how the interceptors of a client treat the calls of this context.
// Where the context has an Override already, the fields of o that are zero keep its values.
// A server does not look at it.
func WithOverride(ctx context.Context, o Override) context.Context {
	return guards.WithOverride(ctx, overrideKey{}, guards.Override(o))
}

func overrideOf(ctx context.Context) guards.Override { return guards.OverrideOf(ctx, overrideKey{}) }
