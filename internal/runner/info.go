package runner

import (
	"context"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
)

// info is what an attempt has for its AttemptInfo. It is immutable.
type info struct {
	number uint32
	hedge  bool
	last   error // of the attempt before, nil for none
	clock  *Settings
	began  clock.Mark // of the call
}

type infoKey struct{}

// newInfo returns the info of an attempt of a call that began at a mark of the clock.
func (s *Settings) newInfo(number uint32, last error, began clock.Mark) *info {
	return &info{number: number, last: last, clock: s, began: began}
}

// at returns the AttemptInfo, with the deadline of a context.
func (i *info) at(ctx context.Context) api.AttemptInfo {
	deadline, _ := ctx.Deadline()
	return api.AttemptInfo{Number: i.number, Hedge: i.hedge, LastError: i.last, Elapsed: i.clock.Now().Sub(i.began), Deadline: deadline}
}

// InfoOf returns the AttemptInfo of the attempt whose function got ctx. ok is false where it
// has none.
func InfoOf(ctx context.Context) (of api.AttemptInfo, ok bool) {
	i, ok := ctx.Value(infoKey{}).(*info)
	if !ok {
		return of, false
	}
	return i.at(ctx), true
}

// Informed returns a context that has the AttemptInfo of an attempt of a call that began at a
// mark of the clock.
func (s *Settings) Informed(ctx context.Context, number uint32, last error, began clock.Mark) context.Context {
	return &attemptContext{Context: ctx, info: s.newInfo(number, last, began)}
}

// info returns the info of the attempt k, nil where the call has none.
func (r *run) info(k uint8, hedge bool) *info {
	if !r.informed {
		return nil
	}
	i := r.p.newInfo(r.call.NumberOf(k), r.last, r.began)
	i.hedge = hedge
	return i
}

// attemptContext is the context of an attempt that has values of its own: leases that the
// function may renew, or an info.
type attemptContext struct {
	context.Context
	leases leases
	info   *info // nil for none
}

// Value implements context.Context.
func (c *attemptContext) Value(key any) any {
	switch key.(type) {
	case leasesKey:
		if c.leases.held != nil {
			return &c.leases
		}
	case infoKey:
		if c.info != nil {
			return c.info
		}
	}
	return c.Context.Value(key)
}

// AfterFunc lets package context attach children without a goroutine.
func (c *attemptContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
