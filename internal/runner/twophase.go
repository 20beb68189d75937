package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/api"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Call is a call of one attempt without a function: its caller does the work
// between Begin and Done.
type Call struct {
	phases  atomic.Pointer[Phases] // nil after Done
	places  atomic.Pointer[Phases] // what Release releases on the fast path; nil for nothing, released after Release
	ctx     context.Context
	own     lazyContext // ctx on the fast path
	release func()      // nil on the fast path
	// readers is how many goroutines read Phases beside Done, which then stay out of the pool.
	readers atomic.Int32
}

// released is in Call.places after Release.
var released = new(Phases)

// Phases is what a call needs up to Done, and on the fast path with places up to Release. It is in a pool, unlike the Call, to which
// the context of the work may refer for longer.
type Phases struct {
	fast    fastPath
	run     *run // nil on the fast path
	request api.Request
	// layout and admitted, the plan of the call and the mark at which it was admitted, do not
	// change before free, and neither does request.
	layout   *binding
	admitted clock.Mark
}

var phasesPool = sync.Pool{New: func() any { return new(Phases) }}

func (s *Phases) free() {
	l := &s.fast
	l.ctx, l.pipeline, l.layout, l.attempt, l.traced, l.changes = nil, nil, nil, nil, nil, nil
	l.entered, l.held, l.open, l.effects, l.refused = 0, 0, false, false, false
	s.run, s.request, s.layout = nil, api.Request{}, nil
	phasesPool.Put(s)
}

// Begin takes a call through the steps of the plan. The call that it admits is for one
// Call.Admitted.
func (p *Pipeline) Begin(ctx context.Context, q *api.Request) (*Phases, error) {
	s := phasesPool.Get().(*Phases)
	s.request = *q
	l := &s.fast
	l.ctx, l.pipeline, l.twoPhase = ctx, p, true
	switch {
	case s.enter():
		return s, nil
	case l.refused:
		err := l.refusal(&s.request)
		s.free()
		return nil, err
	}
	s.request.Holdable = true
	if err := s.perform(); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// Admitted makes c the call that Begin admitted.
func (c *Call) Admitted(s *Phases) {
	if s.run == nil {
		s.layout, s.admitted = s.fast.layout, s.fast.began
		c.own.begin(&s.fast)
		c.ctx = &c.own
	} else {
		s.layout, s.admitted = s.run.layout, s.run.now
		c.ctx = s.run.context()
		c.release = Hold(c.ctx, false)
	}
	c.phases.Store(s)
}

// enter takes the call through its fast path. It returns false where a run has to take
// over, and where the call is refused.
func (s *Phases) enter() bool {
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
func (s *Phases) perform() error {
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
func (c *Call) Context() context.Context {
	if c.ctx == nil {
		return context.Background() // of a call that was not begun
	}
	return c.ctx
}

// Limits appends the states of Pipeline.Limits for the request of the call, at the mark at
// which it was admitted. After Done it appends nothing.
func (c *Call) Limits(dst []api.LimitState) []api.LimitState {
	c.readers.Add(1)
	defer c.readers.Add(-1)
	if s := c.phases.Load(); s != nil {
		return s.layout.limits(&s.request, s.admitted, dst)
	}
	return dst
}

// free returns to the pool what Limits does not read. A reader that comes later finds nothing,
// since it counts itself before it looks.
func (c *Call) free(s *Phases) {
	if c.readers.Load() == 0 {
		s.free()
	}
}

// Done settles the call. after is the retry-after of the answer, 0 or less for none. Only
// the first call counts.
func (c *Call) Done(o reducer.Outcome, after time.Duration) {
	s := c.phases.Swap(nil)
	if s == nil {
		return
	}
	r := s.run
	if r == nil {
		c.own.settle()
		if o == reducer.OK && s.fast.leave(&s.request, nil) {
			c.keep(s)
			return
		}
		r = newRun()
		r.single = true
		r.take(&s.fast, &s.request)
		c.hold(r, &s.fast)
	}
	c.free(s)
	defer r.ended()
	// Done has no error to return: its caller named the outcome.
	_, _ = r.settle(o, after > 0, max(0, after), nil)
	r.done = true
}

// Release releases what is held. Without a Done before, the call counts as
// cancelled.
func (c *Call) Release() {
	if c.phases.Load() != nil {
		c.Done(reducer.Cancelled, 0)
	}
	if c.release != nil {
		c.release()
		return
	}
	if s := c.places.Swap(released); s != nil && s != released {
		s.fast.release()
		c.free(s)
	}
	if s := c.own.session.Load(); s != nil {
		s.release()
	}
	c.own.release()
}

// keep keeps the places of a call that left the fast path, until Release.
func (c *Call) keep(s *Phases) {
	if !s.fast.layout.places {
		c.free(s)
		return
	}
	if !c.places.CompareAndSwap(nil, s) {
		s.fast.release()
		c.free(s)
	}
}

// hold has a run that continues the call leave its places to Release.
func (c *Call) hold(r *run, l *fastPath) {
	if !l.layout.places {
		return
	}
	s := c.own.full()
	if c.places.Load() == released {
		s.release()
	}
	r.hold = s
	for i := int(l.entered) - 1; i >= int(l.held); i-- {
		if k, ok := l.place(i); ok {
			s.keep(k, l.returned)
		}
	}
}

// lazyContext is the context of a call of two phases that holds nothing: a session
// that is made when Done, or a value that package context looks for, is asked for.
// Until then Deadline and Err compare marks.
type lazyContext struct {
	parent   context.Context
	pipeline *Pipeline
	cut      clock.Mark // clock.Never for none
	end      *end       // at the cut

	making   sync.Mutex              // of session
	session  atomic.Pointer[session] // nil until it is needed
	settled  atomic.Bool             // the deadline ends nothing any more
	released atomic.Bool             // before the parent has ended
}

func (c *lazyContext) begin(l *fastPath) {
	c.parent, c.pipeline = l.ctx, l.pipeline
	c.cut, c.end = l.cut()
}

// full returns the session.
func (c *lazyContext) full() *session {
	c.making.Lock()
	defer c.making.Unlock()
	if s := c.session.Load(); s != nil {
		return s
	}
	cut, now := c.cut, c.pipeline.Now()
	if c.settled.Load() {
		cut = clock.Never
	}
	s := c.pipeline.newSession(c.parent, cut, c.end)
	if cut <= now && s.Err() == nil {
		s.Expire() // by the clock of the pipeline
	}
	c.session.Store(s)
	// Before the session was stored, settle and release could not see it.
	if c.settled.Load() {
		s.Lift()
	}
	if c.released.Load() {
		s.cancel(nil)
	}
	return s
}

// ended returns the session where it is there, or where the context has ended.
func (c *lazyContext) ended() *session {
	if s := c.session.Load(); s != nil {
		return s
	}
	if c.released.Load() || c.parent.Err() != nil || c.cut != clock.Never && !c.settled.Load() && c.pipeline.Now() >= c.cut {
		return c.full()
	}
	return nil
}

// settle says that the outcome of the call is known. A deadline that has passed already
// has ended the context.
func (c *lazyContext) settle() {
	if c.cut == clock.Never || c.pipeline.Now() >= c.cut {
		return
	}
	c.settled.Store(true)
	if s := c.session.Load(); s != nil {
		s.Lift()
	}
}

// release ends the context.
func (c *lazyContext) release() {
	if c.session.Load() == nil && (c.parent == nil || c.parent.Err() != nil) {
		return // the parent is missing in a zero Call
	}
	c.released.Store(true)
	if s := c.session.Load(); s != nil {
		s.cancel(nil)
	}
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
