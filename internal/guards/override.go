package guards

import (
	"context"
	"time"

	"github.com/sluice-go/sluice"
)

// Override is what differs for some requests of a client. It has the fields of the public
// types of the bindings, which are converted.
type Override struct {
	Key      string
	Cost     uint32
	NoRetry  string
	Timeout  time.Duration
	Attempts uint32
}

// WithOverride returns a context with an override under a key of a binding. Fields that
// are zero keep the values of the override that the context has there.
func WithOverride(ctx context.Context, key any, o Override) context.Context {
	outer := OverrideOf(ctx, key)
	if o.Key == "" {
		o.Key = outer.Key
	}
	if o.Cost == 0 {
		o.Cost = outer.Cost
	}
	if o.NoRetry == "" {
		o.NoRetry = outer.NoRetry
	}
	if o.Timeout == 0 {
		o.Timeout = outer.Timeout
	}
	if o.Attempts == 0 {
		o.Attempts = outer.Attempts
	}
	return context.WithValue(ctx, key, &o)
}

// OverrideOf returns the override that a context has under a key, a zero one for none.
func OverrideOf(ctx context.Context, key any) Override {
	if o, ok := ctx.Value(key).(*Override); ok {
		return *o
	}
	return Override{}
}

// Apply changes what the policy is asked.
func (o *Override) Apply(q *sluice.Request) {
	if o.Key != "" {
		q.Key = o.Key
	}
	if o.Cost != 0 {
		q.Cost = o.Cost
	}
	q.Timeout, q.Attempts = o.Timeout, o.Attempts
}
