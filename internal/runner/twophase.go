package runner

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Call is a call of one attempt without a function: its caller does the work
// between Begin and Done. Its zero value has not begun.
type Call struct {
	mu      sync.Mutex
	phases  *phases // nil after Done
	ctx     context.Context
	own     lazyContext // ctx on the fast path
	release func()      // nil on the fast path
}

// phases is what a call needs up to Done. It is in a pool, unlike the Call, to which
// the context of the work may refer for longer.
type phases struct {
	fast    fastPath
	run     *run // nil on the fast path
	request Request
}

var phasesPool = sync.Pool{New: func() any { return new(phases) }}

func (s *phases) free() {
	l := &s.fast
	l.ctx, l.pipeline, l.layout, l.attempt, l.changes = nil, nil, nil, nil, nil
	l.entered, l.held, l.open, l.effects, l.refused = 0, 0, false, false, false
	s.run, s.request = nil, Request{}
	phasesPool.Put(s)
}

// Begin takes the call through the steps of the plan of p. It is called once.
func (c *Call) Begin(ctx context.Context, p *Pipeline, q *Request) error {
	s := phasesPool.Get().(*phases)
	s.request = *q
	l := &s.fast
	l.ctx, l.pipeline, l.twoPhase = ctx, p, true
	switch {
	case s.enter():
		c.own.begin(l)
		c.phases, c.ctx = s, &c.own
		return nil
	case l.refused:
		err := l.refusal(&s.request)
		s.free()
		return err
	}
	s.request.Holdable = true
	if err := s.perform(); err != nil {
		s.free()
		return err
	}
	c.phases, c.ctx = s, s.run.context()
	c.release = Hold(c.ctx)
	return nil
}

// enter takes the call through its fast path. It returns false where a run has to take
// over, and where the call is refused.
func (s *phases) enter() bool {
	over := false
	defer func() {
		if !over {
			s.fast.crashed(&s.request)
		}
	}()
	entered := s.fast.enter(&s.request)
	over = true
	return entered
}

// perform makes a call that the fast path did not take to its work.
func (s *phases) perform() error {
	r := newRun()
	begun := false
	defer func() {
		if !begun {
			r.ended()
		}
	}()
	r.single = true
	_, err := r.start(&s.fast, &s.request)
	if err != nil {
		r.done = true
		return err
	}
	s.run, begun = r, true
	return nil
}

// Context returns the context of the work. The deadlines end with Done, the rest
// with Release.
func (c *Call) Context() context.Context { return c.ctx }

// Done settles the call. Only the first call counts.
func (c *Call) Done(o reducer.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.phases
	if s == nil {
		return
	}
	c.phases = nil
	r := s.run
	if r == nil {
		c.own.settle()
		if o == reducer.OK && s.fast.leave(&s.request, nil) {
			s.free()
			return
		}
		r = newRun()
		r.single = true
		r.take(&s.fast, &s.request)
	}
	s.free()
	defer r.ended()
	// Done has no error to return: its caller named the outcome.
	_, _ = r.settle(o, false, 0, nil)
	r.done = true
}

// Release releases what is held. Without a Done before, the call counts as
// cancelled.
func (c *Call) Release() {
	c.Done(reducer.Cancelled)
	if c.release == nil {
		c.own.release()
		return
	}
	c.release()
}

// lazyContext is the context of a call of two phases that holds nothing: a session
// that is made when Done, or a value that package context looks for, is asked for.
// Until then Deadline and Err compare marks.
type lazyContext struct {
	parent   context.Context
	pipeline *Pipeline
	cut      clock.Mark // clock.Never for none
	end      *end       // at the cut

	mu       sync.Mutex
	session  *session // nil until it is needed
	settled  bool     // the deadline ends nothing any more
	released bool     // before the parent has ended
}

func (c *lazyContext) begin(l *fastPath) {
	c.parent, c.pipeline = l.ctx, l.pipeline
	c.cut, c.end = l.cut()
}

// full returns the session.
func (c *lazyContext) full() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		cut, now := c.cut, c.pipeline.Now()
		if c.settled {
			cut = clock.Never
		}
		c.session = newSession(c.parent, cut, now, c.end)
		switch {
		case c.released:
			c.session.cancel(nil)
		case cut <= now:
			c.session.cancel(c.end.cause)
		}
	}
	return c.session
}

// ended returns the session where it is there, or where the context has ended.
func (c *lazyContext) ended() *session {
	c.mu.Lock()
	s, ended := c.session, c.released || c.parent.Err() != nil || !c.settled && c.cut != clock.Never && c.pipeline.Now() >= c.cut
	c.mu.Unlock()
	if s == nil && ended {
		return c.full()
	}
	return s
}

// settle says that the outcome of the call is known.
func (c *lazyContext) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A deadline that has passed already has ended the context.
	c.settled = c.cut == clock.Never || c.pipeline.Now() < c.cut
	if c.session != nil && c.session.timer != nil {
		c.session.timer.Stop()
	}
}

// release ends the context.
func (c *lazyContext) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		c.session.cancel(nil)
		return
	}
	c.released = c.released || c.parent.Err() == nil
}

// Deadline implements context.Context.
func (c *lazyContext) Deadline() (time.Time, bool) {
	at, ok := c.parent.Deadline()
	if c.cut == clock.Never {
		return at, ok
	}
	own := time.Now().Add(c.cut.Sub(c.pipeline.Now()))
	if ok && at.Before(own) {
		return at, true
	}
	return own, true
}

// Done implements context.Context.
func (c *lazyContext) Done() <-chan struct{} { return c.full().Done() }

// Err implements context.Context.
func (c *lazyContext) Err() error {
	if s := c.ended(); s != nil {
		return s.Err()
	}
	return nil
}

// Value implements context.Context. Package context asks it for the canceller behind
// a context, after it has asked for Done.
func (c *lazyContext) Value(key any) any {
	switch key.(type) {
	case sessionKey, leasesKey:
		return c.full().Value(key)
	}
	if s := c.ended(); s != nil {
		return s.Value(key)
	}
	return c.parent.Value(key)
}
