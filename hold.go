package sluice

import (
	"context"
	"errors"
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
// follows, or the function panics, the runner lets go itself.
func Hold(ctx context.Context) (release func()) {
	s, _ := ctx.Value(sessionKey{}).(*session)
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = true
	return s.release
}

type sessionKey struct{}

// session is the context of an attempt that may be held. It is cancelled at the
// deadline with a TimeoutError as its cause, and when it is let go.
type session struct {
	context.Context // of its own cancellation
	cancel          context.CancelCauseFunc
	timer           *time.Timer // of the deadline, nil for none
	deadline        time.Time

	mu     sync.Mutex
	places []kept
	taken  bool // by Hold
	over   bool // the function has returned
	freed  bool
}

// kept is the permit of a bulkhead.
type kept struct {
	box    *box
	action reducer.Action
}

func newSession(parent context.Context, cut clock.Mark, now clock.Mark, end *end) *session {
	s := &session{}
	s.Context, s.cancel = context.WithCancelCause(parent)
	if cut != clock.Never {
		after := cut.Sub(now)
		s.deadline = time.Now().Add(after)
		s.timer = time.AfterFunc(after, func() { s.cancel(end.cause) })
	}
	return s
}

// Deadline implements context.Context.
func (s *session) Deadline() (time.Time, bool) {
	at, ok := s.Context.Deadline()
	if s.timer != nil && (!ok || s.deadline.Before(at)) {
		return s.deadline, true
	}
	return at, ok
}

// Err implements context.Context.
func (s *session) Err() error {
	err := s.Context.Err()
	var cut *TimeoutError
	if err != nil && errors.As(context.Cause(s.Context), &cut) {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context. Children attach to the real context.
func (s *session) Value(key any) any {
	if _, ok := key.(sessionKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// end says that the function has returned, and reports whether it is held.
func (s *session) end() bool {
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

// keep takes over a place, or gives it back when all was let go already.
func (s *session) keep(k kept, now clock.Mark) {
	s.mu.Lock()
	freed := s.freed
	if !freed {
		s.places = append(s.places, k)
	}
	s.mu.Unlock()
	if freed {
		k.box.step(k.action, now)
	}
}

// release lets go.
func (s *session) release() {
	s.mu.Lock()
	places, over := s.places, s.over
	s.places, s.freed = nil, true
	s.mu.Unlock()
	for _, k := range places {
		k.box.step(k.action, k.box.now())
	}
	if over {
		s.cancel(nil)
	}
}
