package attempt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// Cancellable is a context that can be cancelled, and may have a deadline. Until Done is
// called it makes no context of package context and no timer, which cost as much as the
// decisions about a request: Deadline and Err compare marks, and Hooks are called. The
// zero value is not ready; Init makes it so.
type Cancellable struct {
	parent   context.Context
	deadline atomic.Int64           // a mark by Now, clock.Never for none
	timeout  error                  // the cause at the deadline
	ended    atomic.Pointer[reason] // nil before the end
	real     atomic.Pointer[real]   // nil until Done is called
	slot     Slot

	mu    sync.Mutex  // of making real and what follows
	stop  func() bool // has the parent not call the slot; nil before the first Attach
	timer *time.Timer // of real, nil for none
}

// real is a context of package context with its cancel function.
type real struct {
	context.Context
	cancel context.CancelCauseFunc
}

var cancelled = &reason{context.Canceled, context.Canceled}

// Init makes a zero value the context that is derived from a parent and ends at a mark by
// Now, clock.Never for none, with context.DeadlineExceeded and the timeout as its cause.
func (c *Cancellable) Init(parent context.Context, at clock.Mark, timeout error) {
	c.parent, c.timeout = parent, timeout
	c.deadline.Store(int64(at))
}

// Cancel cancels the context with a cause, nil for context.Canceled. An earlier end stays.
func (c *Cancellable) Cancel(cause error) {
	if c.Err() != nil {
		return
	}
	if cause == nil {
		c.end(cancelled)
	} else {
		c.end(&reason{context.Canceled, cause})
	}
}

// Expire ends the context as its deadline does.
func (c *Cancellable) Expire() { c.end(&reason{context.DeadlineExceeded, c.timeout}) }

// End ends the context as another one has ended.
func (c *Cancellable) End(as context.Context) { c.end(&reason{as.Err(), context.Cause(as)}) }

// Awaited reports whether anything waits for the end of the context.
func (c *Cancellable) Awaited() bool { return c.real.Load() != nil || c.slot.hook.Load() != nil }

// Lift lifts the deadline, unless the context has ended.
func (c *Cancellable) Lift() {
	if clock.Mark(c.deadline.Load()) == clock.Never || c.Err() != nil {
		return
	}
	c.deadline.Store(int64(clock.Never))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *Cancellable) end(why *reason) {
	if !c.ended.CompareAndSwap(nil, why) {
		return
	}
	c.mu.Lock()
	stop, real := c.stop, c.real.Load()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	if real != nil {
		real.cancel(why.cause)
	}
	c.slot.Call()
}

// Attach implements Hooked. The parent need not be Hooked.
func (c *Cancellable) Attach(h *Hook) bool {
	if p, ok := c.parent.(Hooked); ok {
		return c.slot.Attach(p, h)
	}
	return c.slot.hook.CompareAndSwap(nil, h)
}

// Follow implements Hooked.
func (c *Cancellable) Follow() {
	if p, ok := c.parent.(Hooked); ok {
		p.Follow()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil && c.ended.Load() == nil {
		c.stop = context.AfterFunc(c.parent, c.slot.Call)
	}
}

// Detach implements Hooked.
func (c *Cancellable) Detach(h *Hook) bool { return c.slot.Detach(c.parent, h) }

// Deadline implements context.Context.
func (c *Cancellable) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	mark := clock.Mark(c.deadline.Load())
	if mark == clock.Never {
		return at, ok
	}
	if own := base.Add(time.Duration(mark)); !ok || own.Before(at) {
		return own, true
	}
	return at, true
}

// Done implements context.Context.
func (c *Cancellable) Done() <-chan struct{} {
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	_ = c.Err() // notes an end that has come
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	r, why := &real{}, c.ended.Load()
	if why != nil {
		// The parent may have ended as well, for another reason.
		r.Context, r.cancel = context.WithCancelCause(context.WithoutCancel(c.parent))
	} else {
		r.Context, r.cancel = context.WithCancelCause(c.parent)
	}
	c.real.Store(r)
	if why != nil {
		r.cancel(why.cause)
	} else if at := clock.Mark(c.deadline.Load()); at != clock.Never {
		c.timer = time.AfterFunc(at.Sub(Now()), func() { _ = c.Err() })
	}
	return r.Done()
}

// Err implements context.Context.
func (c *Cancellable) Err() error {
	if why := c.ended.Load(); why != nil {
		return why.err
	}
	err, at := c.parent.Err(), clock.Mark(c.deadline.Load())
	due := at != clock.Never && Now() >= at
	switch {
	case err == nil && !due:
		return nil
	case err == nil || due && err == context.DeadlineExceeded && c.sooner(at):
		c.Expire()
	default:
		c.end(&reason{err, context.Cause(c.parent)})
	}
	return c.ended.Load().err
}

// sooner reports whether a mark is before the deadline of the parent.
func (c *Cancellable) sooner(at clock.Mark) bool {
	parents, ok := c.parent.Deadline()
	return ok && base.Add(time.Duration(at)).Before(parents)
}

// Value implements context.Context. Package context asks it for the canceller behind a context,
// after Done. It also asks for the canceller of a context that has ended, to read the cause.
func (c *Cancellable) Value(key any) any {
	if c.real.Load() == nil && c.ended.Load() != nil {
		c.Done()
	}
	if r := c.real.Load(); r != nil {
		return r.Value(key)
	}
	return c.parent.Value(key)
}
