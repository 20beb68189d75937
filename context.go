package sluice

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// attempt is the context of one attempt: 32 bytes and no timer until somebody
// asks for Done. Deadline and Err compare marks.
type attempt struct {
	parent   context.Context
	deadline clock.Mark // on the line of base
	extra    atomic.Pointer[extra]
}

// extra is what an attempt needs when it is more than a deadline.
type extra struct {
	ctx    context.Context // real, once Done was asked for
	cancel context.CancelFunc
	err    error // of an attempt that ended before Done was asked for
}

// How an attempt ends before Done was asked for.
var (
	over    = &extra{err: context.Canceled}
	overdue = &extra{err: context.DeadlineExceeded}
)

// Deadline implements context.Context.
func (a *attempt) Deadline() (time.Time, bool) {
	at, ok := a.parent.Deadline()
	own := base.Add(time.Duration(a.deadline))
	if ok && at.Before(own) {
		return at, true
	}
	return own, true
}

// Err implements context.Context.
func (a *attempt) Err() error {
	x := a.extra.Load()
	switch {
	case x == nil:
	case x.ctx != nil:
		return x.ctx.Err()
	default:
		return x.err
	}
	err := a.parent.Err()
	switch {
	case err == nil && clock.Mark(time.Since(base)) < a.deadline:
		return nil
	case err == nil || errors.Is(err, context.DeadlineExceeded):
		a.stop(overdue)
	default:
		a.stop(over)
	}
	// The first error stays, whatever the attempt does next.
	return a.Err()
}

// Done implements context.Context. The first call makes a real context, whose
// children attach to it without a goroutine.
func (a *attempt) Done() <-chan struct{} { return a.real().ctx.Done() }

// Value implements context.Context. The real context answers for itself when a
// child asks for its canceller.
func (a *attempt) Value(key any) any {
	if a.extra.Load() != nil {
		return a.real().ctx.Value(key)
	}
	return a.parent.Value(key)
}

func (a *attempt) real() *extra {
	for {
		old := a.extra.Load()
		if old != nil && old.ctx != nil {
			return old
		}
		next := &extra{}
		switch {
		case old == nil:
			at, _ := a.Deadline()
			next.ctx, next.cancel = context.WithDeadline(a.parent, at)
		case old == overdue:
			next.ctx, next.cancel = context.WithDeadline(context.WithoutCancel(a.parent), time.Time{})
		default:
			next.ctx, next.cancel = context.WithCancel(context.WithoutCancel(a.parent))
			next.cancel()
		}
		if a.extra.CompareAndSwap(old, next) {
			return next
		}
		next.cancel()
	}
}

// end cancels the context at the end of the attempt.
func (a *attempt) end() { a.stop(over) }

// stop ends the context, unless it is over already.
func (a *attempt) stop(how *extra) {
	if a.extra.CompareAndSwap(nil, how) {
		return
	}
	if x := a.extra.Load(); x.ctx != nil && how == over {
		x.cancel()
	}
}
