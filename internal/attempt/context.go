package attempt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
)

// Context is the context of one attempt: 32 bytes, and no timer until Done is
// called. Until then Deadline and Err compare marks.
type Context struct {
	parent   context.Context
	deadline clock.Mark // by Now
	// state points to a cancelState. It is changed by atomic operations, and set
	// without one by New: that would cost as much as the rest of New.
	state unsafe.Pointer
}

func (c *Context) load() *cancelState { return (*cancelState)(atomic.LoadPointer(&c.state)) }

func (c *Context) swap(from, to *cancelState) bool {
	return atomic.CompareAndSwapPointer(&c.state, unsafe.Pointer(from), unsafe.Pointer(to))
}

// Deadline is the reason with which contexts end at their deadline. It is made once
// and shared by them.
type Deadline struct{ unwatched, expired cancelState }

// DeadlineWith returns a Deadline whose context.Cause is the error. The error of
// the context is context.DeadlineExceeded.
func DeadlineWith(cause error) *Deadline {
	d := &Deadline{}
	d.unwatched.atDeadline = &d.expired
	d.expired.close(&reason{context.DeadlineExceeded, cause})
	return d
}

// cancelState says how a context has ended or will end. It has one of three forms: the form of
// a Deadline, while Done was not called and the context has not ended; one of its own, with a
// channel and a timer; one that is closed and shared, for contexts that end before Done is
// called.
type cancelState struct {
	atDeadline *cancelState
	done       chan struct{}
	timer      *deadlineTimer
	detach     func() bool            // from the parent, nil for one that never ends
	ended      atomic.Pointer[reason] // set before done is closed

	hooked atomic.Bool // hooks may follow
	mu     sync.Mutex  // of hooks
	hooks  []*hook
}

// hook is a function to call at the end of a context.
type hook struct {
	f  func()
	at int // index in hooks, -1 when it must not be called any more
}

// reason is why a context ended.
type reason struct{ err, cause error }

// cancelledOnReturn is the end of a context by End.
var cancelledOnReturn = new(cancelState).close(&reason{context.Canceled, context.Canceled})

// close makes a state the shared one of contexts that end for a reason.
func (s *cancelState) close(why *reason) *cancelState {
	s.done = make(chan struct{})
	close(s.done)
	s.ended.Store(why)
	return s
}

// New returns the context of an attempt that is cancelled at a mark by Now, and
// then ends as the Deadline says.
func New(parent context.Context, at clock.Mark, d *Deadline) *Context {
	return &Context{parent: parent, deadline: at, state: unsafe.Pointer(&d.unwatched)}
}

// End cancels the context because its attempt is over. An earlier end stays.
func (c *Context) End() { c.finish(cancelledOnReturn) }

// expire ends the context at its deadline.
func (c *Context) expire() { c.finish(c.load().atDeadline) }

// Deadline implements context.Context.
func (c *Context) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	own := base.Add(time.Duration(c.deadline))
	if ok && at.Before(own) {
		return at, true
	}
	return own, true
}

// Err implements context.Context.
func (c *Context) Err() error {
	if why := c.reason(); why != nil {
		return why.err
	}
	return nil
}

// reason returns why the context has ended, nil before that.
func (c *Context) reason() *reason {
	s := c.load()
	if why := s.ended.Load(); why != nil {
		return why
	}
	switch {
	case c.parent.Err() != nil:
		c.follow()
	// Once Done was asked for, the timer says when the deadline has come.
	case s.done == nil && Now() >= c.deadline:
		c.expire()
	default:
		return nil
	}
	// The first reason stays, whatever the context does next.
	return c.load().ended.Load()
}

// Done implements context.Context.
func (c *Context) Done() <-chan struct{} { return c.watch().done }

// Value implements context.Context. Package context asks it for the canceller
// behind a context, and that one for the cause. A context that has ended has a
// cause of its own, whatever its parent does later.
func (c *Context) Value(key any) any {
	why := c.reason()
	if why == nil {
		return c.parent.Value(key)
	}
	ended, cancel := context.WithCancelCause(context.WithoutCancel(c.parent))
	cancel(why.cause)
	return ended.Value(key)
}

// AfterFunc calls f at the end of the context, unless stop is called first.
// Package context looks for this method to attach contexts derived from this one
// without a goroutine; then f cancels one of them.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	s := c.watch()
	s.hooked.Store(true) // before ended is loaded
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Load() != nil {
		// On another goroutine, for the caller may hold a lock that f needs.
		go f()
		return func() bool { return false }
	}
	h := &hook{f, len(s.hooks)}
	s.hooks = append(s.hooks, h)
	return func() bool { return s.remove(h) }
}

func (s *cancelState) remove(h *hook) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.at < 0 {
		return false
	}
	last := len(s.hooks) - 1
	s.hooks[h.at] = s.hooks[last]
	s.hooks[h.at].at = h.at
	s.hooks[last] = nil
	s.hooks = s.hooks[:last]
	h.at = -1
	return true
}

// watch makes sure that something closes the channel of Done.
func (c *Context) watch() *cancelState {
	for {
		unwatched := c.load()
		if unwatched.done != nil {
			return unwatched
		}
		if c.parent.Err() != nil {
			c.follow()
			continue
		}
		s := &cancelState{atDeadline: unwatched.atDeadline, timer: startTimer(c)}
		if s.timer == nil {
			c.expire()
			continue
		}
		s.done = make(chan struct{})
		if c.parent.Done() != nil {
			// A context of package context with this deadline would cost more
			// than twice as much.
			s.detach = context.AfterFunc(c.parent, c.follow)
		}
		if c.swap(unwatched, s) {
			return s
		}
		s.release()
	}
}

// follow ends a context whose parent has ended.
func (c *Context) follow() {
	why := reason{c.parent.Err(), context.Cause(c.parent)}
	how := cancelledOnReturn
	if why != *how.ended.Load() {
		how = new(cancelState).close(&why)
	}
	c.finish(how)
}

// finish ends the context with a state, unless it has ended already.
func (c *Context) finish(how *cancelState) {
	s := c.load()
	if s.done == nil {
		if c.swap(s, how) {
			return
		}
		s = c.load()
	}
	s.finish(how.ended.Load())
}

func (s *cancelState) finish(why *reason) {
	if !s.ended.CompareAndSwap(nil, why) {
		return
	}
	close(s.done)
	s.release()
	if !s.hooked.Load() {
		return
	}
	s.mu.Lock()
	hooks := s.hooks
	s.hooks = nil
	for _, h := range hooks {
		h.at = -1
	}
	s.mu.Unlock()
	for _, h := range hooks {
		h.f()
	}
}

// release stops the timer and detaches from the parent: the context has ended.
func (s *cancelState) release() {
	s.timer.release()
	if s.detach != nil {
		s.detach()
	}
}
