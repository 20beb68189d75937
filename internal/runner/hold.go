package runner

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Hold keeps the bulkhead places and the context of the attempt whose function
// got ctx beyond the function's end, until release is called; more calls do
// nothing. The deadlines of the policy no longer cut what is held. It is for
// answers that are still read when the function has returned, and works where
// Request.Holdable is set; elsewhere release does nothing. When another attempt
// follows, or the function panics, the runner releases automatically.
func Hold(ctx context.Context) (release func()) {
	s, _ := ctx.Value(heldContextKey{}).(*heldContext)
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = true
	return s.release
}

type heldContextKey struct{}

// heldContext is the context of an attempt that may be held. It is cancelled at the
// deadline with a TimeoutError as its cause, and when it is released.
type heldContext struct {
	context.Context // of its own cancellation
	cancel          context.CancelCauseFunc
	timer           *time.Timer // of the deadline, nil for none
	deadline        time.Time
	timeout         error // the cause at the deadline

	mu     sync.Mutex
	places []kept
	taken  bool // by Hold
	over   bool // the function has returned
	freed  bool
}

// kept is the permit of a bulkhead.
type kept struct {
	cell   *LockedCell
	action reducer.Action
}

func newHeldContext(parent context.Context, cut clock.Mark, now clock.Mark, end *end) *heldContext {
	s := &heldContext{}
	s.Context, s.cancel = context.WithCancelCause(parent)
	if cut != clock.Never {
		after := cut.Sub(now)
		s.deadline = time.Now().Add(after)
		s.timeout = end.cause
		s.timer = time.AfterFunc(after, func() { s.cancel(end.cause) })
	}
	return s
}

// Deadline implements context.Context.
func (s *heldContext) Deadline() (time.Time, bool) {
	at, ok := s.Context.Deadline()
	if s.timer != nil && (!ok || s.deadline.Before(at)) {
		return s.deadline, true
	}
	return at, ok
}

// Err implements context.Context.
func (s *heldContext) Err() error {
	err := s.Context.Err()
	if err != nil && s.timeout != nil && context.Cause(s.Context) == s.timeout {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context. Children attach to the real context.
func (s *heldContext) Value(key any) any {
	if _, ok := key.(heldContextKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// end says that the function has returned, and reports whether it is held.
func (s *heldContext) end() bool {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Lock()
	s.over = true
	held := s.taken && !s.freed
	s.mu.Unlock()
	if !held {
		s.cancel(nil)
	}
	return held
}

// keep takes over a place, or returns it where all was released already.
func (s *heldContext) keep(k kept, now clock.Mark) {
	s.mu.Lock()
	freed := s.freed
	if !freed {
		s.places = append(s.places, k)
	}
	s.mu.Unlock()
	if freed {
		k.cell.Step(k.action, now)
	}
}

// release releases everything.
func (s *heldContext) release() {
	s.mu.Lock()
	places, over := s.places, s.over
	s.places, s.freed = nil, true
	s.mu.Unlock()
	for _, k := range places {
		k.cell.Step(k.action, k.cell.now())
	}
	if over {
		s.cancel(nil)
	}
}
