package nethttp

import (
	"context"

	"github.com/sluice-go/sluice"
)

// Override is what differs for some requests of a Transport. What is zero is as without
// it. The policy of a request is changed by WithPolicy and WithoutPolicy.
type Override struct {
	// Key is the attribute "key", in place of that of WithKey.
	Key string
	// Cost is how many permits of a limit each attempt takes, in place of that of
	// WithCost; sluice.NoCost takes none.
	Cost uint32
	// NoRetry is a reason to send the request once, without a retry and without a
	// hedge, as in "the user waits". Details.NoRetry has it.
	NoRetry string
}

type overrideKey struct{}

// WithOverride changes how a Transport treats the requests of this context. Where the context has an
// Override already, the fields of o that are zero keep its values. A Handler does not
// look at it; its WithKey, WithCost and WithPolicyOf have the request.
func WithOverride(ctx context.Context, o Override) context.Context {
	outer := overrideOf(ctx)
	if o.Key == "" {
		o.Key = outer.Key
	}
	if o.Cost == 0 {
		o.Cost = outer.Cost
	}
	if o.NoRetry == "" {
		o.NoRetry = outer.NoRetry
	}
	return context.WithValue(ctx, overrideKey{}, &o)
}

func overrideOf(ctx context.Context) Override {
	if o, ok := ctx.Value(overrideKey{}).(*Override); ok {
		return *o
	}
	return Override{}
}

// apply changes what the policy is asked.
func (o *Override) apply(q *sluice.Request) {
	if o.Key != "" {
		q.Key = o.Key
	}
	if o.Cost != 0 {
		q.Cost = o.Cost
	}
}
