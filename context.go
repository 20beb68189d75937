package sluice

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// attempt is the context of one attempt: 32 bytes and no timer until somebody
// asks for Done. Deadline and Err compare marks.
type attempt struct {
	parent   context.Context
	deadline clock.Mark // on the line of base, clock.Never for none
	extra    atomic.Pointer[extra]
}

// extra is what an attempt needs when it is more than a deadline.
type extra struct {
	ctx    context.Context // real, once Done was asked for
	cancel context.CancelFunc
	over   bool
}

var over = &extra{over: true}

// Deadline implements context.Context.
func (a *attempt) Deadline() (time.Time, bool) {
	at, ok := a.parent.Deadline()
	if a.deadline == clock.Never {
		return at, ok
	}
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
	case x != nil && x.ctx != nil:
		return x.ctx.Err()
	case x != nil && x.over:
		return context.Canceled
	}
	if err := a.parent.Err(); err != nil {
		return err
	}
	if a.deadline != clock.Never && clock.Mark(time.Since(base)) >= a.deadline {
		return context.DeadlineExceeded
	}
	return nil
}

// Done implements context.Context. The first call makes a real context, whose
// children attach to it without a goroutine.
func (a *attempt) Done() <-chan struct{} { return a.real().ctx.Done() }

// Value implements context.Context. The real context answers for itself when a
// child asks for its canceller.
func (a *attempt) Value(key any) any {
	if x := a.extra.Load(); x != nil && x.ctx != nil {
		return x.ctx.Value(key)
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
		if at, ok := a.Deadline(); ok && a.deadline != clock.Never {
			next.ctx, next.cancel = context.WithDeadline(a.parent, at)
		} else {
			next.ctx, next.cancel = context.WithCancel(a.parent)
		}
		if old != nil {
			next.cancel() // over
		}
		if a.extra.CompareAndSwap(old, next) {
			return next
		}
		next.cancel()
	}
}

// end cancels the context at the end of the attempt.
func (a *attempt) end() {
	for {
		old := a.extra.Load()
		if old != nil && old.ctx != nil {
			old.cancel()
			return
		}
		if a.extra.CompareAndSwap(old, over) {
			return
		}
	}
}
