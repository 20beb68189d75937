package nethttp

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/internal/guards"
)

// Override is what differs for some requests of a Transport. What is zero is as without
// it. The policy of a request is changed by WithPolicy and WithoutPolicy.
type Override struct {
	// Key is the attribute "key", in place of the one from WithKey.
	Key string
	// Cost is how many permits of a limit each attempt takes, in place of the one from
	// WithCost; sluice.NoCost takes none.
	Cost uint32
	// NoRetry is a reason to send the request once, without a retry and without a
	// hedge, as in "the user waits". Details.NoRetry has it.
	NoRetry string
	// Timeout bounds the request as a deadline of its context does, up to the answer's headers;
	// the earlier of the two counts.
	Timeout time.Duration
	// Attempts caps the attempts of this call below the limit of the policy.
	Attempts uint32
}

type overrideKey struct{}

// WithOverride changes how a Transport treats the requests of this context. Where the context has an
// Override already, the fields of o that are zero keep its values. A Handler does not
// look at it; its WithKey, WithCost and WithPolicyOf have the request.
func WithOverride(ctx context.Context, o Override) context.Context {
	return guards.WithOverride(ctx, overrideKey{}, guards.Override(o))
}

func overrideOf(ctx context.Context) guards.Override { return guards.OverrideOf(ctx, overrideKey{}) }
