package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Hold is Hold of the public package.
func Hold(ctx context.Context) (release func()) {
	s := sessionOf(ctx)
	if s == nil || !s.holdable {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = true
	return s.release
}

func sessionOf(ctx context.Context) *session {
	s, _ := ctx.Value(sessionKey{}).(*session)
	return s
}

type sessionKey struct{}

// session is the context of an attempt that may hold what it has beyond its
// function, renew its leases, or run beside others. It is cancelled at the deadline
// with a TimeoutError as its cause, and when it is released.
type session struct {
	context.Context // of its own cancellation
	cancel          context.CancelCauseFunc
	timer           *time.Timer // of the deadline, nil for none
	deadline        time.Time
	timeout         error // the cause at the deadline
	holdable        bool
	number          uint32 // of an attempt of a hedged call, else 0
	hedge           bool
	leases          leases

	mu       sync.Mutex
	places   []kept // that release returns
	taken    bool   // by Hold
	over     bool   // the attempt has ended
	freed    bool
	extended bool // by Extend
	told     bool // outcome is set
	outcome  reducer.Outcome
	owner    *run // of an extended attempt whose function has returned; nil before, and after done
}

// kept is the permit of a cell, with the action that returns it.
type kept struct {
	cell   cellRef
	action reducer.Action
	// left is how many sessions keep the permit before it is returned; nil for
	// one.
	left *atomic.Int32
}

func (k kept) release(now clock.Mark) {
	if k.left == nil || k.left.Add(-1) == 0 {
		k.cell.Step(k.action, now)
	}
}

func newSession(parent context.Context, cut clock.Mark, now clock.Mark, end *end) *session {
	s := &session{}
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
	if err != nil && s.timeout != nil && context.Cause(s.Context) == s.timeout {
		return context.DeadlineExceeded
	}
	return err
}

// Value implements context.Context. Children attach to the real context.
func (s *session) Value(key any) any {
	switch key.(type) {
	case sessionKey:
		return s
	case leasesKey:
		return &s.leases
	}
	return s.Context.Value(key)
}

// disarm lifts the deadline, unless it has passed.
func (s *session) disarm() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// end says that the function has returned, and reports whether it is held.
func (s *session) end() bool {
	s.disarm()
	s.mu.Lock()
	s.over = true
	held := s.taken && !s.freed
	s.mu.Unlock()
	if !held {
		s.leases.ended.Store(true)
		s.cancel(nil)
	}
	return held
}

// keep stores a permit, or returns it where everything was already released.
func (s *session) keep(k kept, now clock.Mark) {
	s.mu.Lock()
	freed := s.freed
	if !freed {
		s.places = append(s.places, k)
	}
	s.mu.Unlock()
	if freed {
		k.release(now)
	}
}

// release releases everything.
func (s *session) release() {
	s.mu.Lock()
	places, over := s.places, s.over
	s.places, s.freed = nil, true
	s.mu.Unlock()
	for _, k := range places {
		k.release(k.cell.now())
	}
	if over {
		s.leases.ended.Store(true)
		s.cancel(nil)
	}
}
