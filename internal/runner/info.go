package runner

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Info is what a function may know of its attempt. It is immutable.
type Info struct {
	Number uint32 // from 1 on
	Hedge  bool   // it started beside another attempt
	Last   error  // of the attempt before, nil for none
	clock  *Settings
	began  clock.Mark // of the call
}

type infoKey struct{}

// NewInfo returns the Info of an attempt of a call that began at a mark of the clock.
func (s *Settings) NewInfo(number uint32, last error, began clock.Mark) *Info {
	return &Info{Number: number, Last: last, clock: s, began: began}
}

// InfoOf returns the Info of the attempt whose function got ctx, nil for none.
func InfoOf(ctx context.Context) *Info {
	i, _ := ctx.Value(infoKey{}).(*Info)
	return i
}

// Elapsed returns the time since the call began.
func (i *Info) Elapsed() time.Duration { return i.clock.Now().Sub(i.began) }

// With returns a context that has the Info.
func (i *Info) With(ctx context.Context) context.Context {
	return &attemptContext{Context: ctx, info: i}
}

// info returns the Info of the attempt k, nil where the call has none.
func (r *run) info(k uint8, hedge bool) *Info {
	if !r.informed {
		return nil
	}
	i := r.p.NewInfo(r.call.NumberOf(k), r.last, r.began)
	i.Hedge = hedge
	return i
}

// attemptContext is the context of an attempt that has values of its own: leases that the
// function may renew, or an Info.
type attemptContext struct {
	context.Context
	leases leases
	info   *Info // nil for none
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
