package runner

import (
	"context"
	"sync/atomic"
)

// Used is Used of the public package.
func Used(ctx context.Context, n uint32) bool {
	u, _ := ctx.Value(usageKey{}).(*usage)
	if u != nil {
		u.used.Store(uint64(n) + 1)
	}
	return u != nil
}

type usageKey struct{}

// usage is the context of an attempt below a limit that settles.
type usage struct {
	context.Context
	used atomic.Uint64 // what the attempt has used, and 1; 0 for nothing
}

// Value implements context.Context.
func (u *usage) Value(key any) any {
	if key == (usageKey{}) {
		return u
	}
	return u.Context.Value(key)
}

// usable returns the context of an attempt, where a step of its plan settles what it has
// used as one that knows it.
func (r *run) usable(ctx context.Context) (context.Context, *usage) {
	if !r.layout.plan.Settles() {
		return ctx, nil
	}
	u := &usage{Context: ctx}
	return u, u
}

// use notes what the attempt k has used, before it is finished.
func (r *run) use(k uint8, u *usage) {
	if u == nil {
		return
	}
	if n := u.used.Load(); n > 0 {
		r.traced.Use(uint32(n - 1))
		r.layout.plan.Use(&r.call, k, n-1)
	}
}
