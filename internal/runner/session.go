package runner

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/reducer"
)

// Hold is Hold of the public package, or with timed HoldTimed.
func Hold(ctx context.Context, timed bool) (release func()) {
	s := sessionOf(ctx)
	if s == nil || !s.holdable {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken, s.timed = true, timed
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
	attempt.Cancellable
	timeout  error // the cause at the deadline
	holdable bool
	number   uint32 // of an attempt of a hedged call, else 0
	hedge    bool
	leases   leases
	info     *info // nil for none

	mu       sync.Mutex
	places   []kept // that release returns
	room     [1]kept
	taken    bool        // by Hold
	timed    bool        // the deadline cuts what is held
	unwatch  func() bool // has the deadline not release; nil where it does not
	over     bool        // the attempt has ended
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

func (s *Settings) newSession(parent context.Context, cut clock.Mark, end *end) *session {
	c := &session{}
	if cut != clock.Never {
		c.timeout = end.cause
	}
	c.Init(parent, s.cutBy(cut), c.timeout)
	return c
}

// Value implements context.Context.
func (s *session) Value(key any) any {
	switch key.(type) {
	case sessionKey:
		return s
	case leasesKey:
		return &s.leases
	case infoKey:
		if s.info != nil {
			return s.info
		}
	}
	return s.Cancellable.Value(key)
}

// cancel ends the context for a reason, nil for context.Canceled.
func (s *session) cancel(cause error) {
	if cause != nil && cause == s.timeout {
		s.Expire()
		return
	}
	s.Cancel(cause)
}

// end says that the function has returned, and reports whether it is held.
func (s *session) end() bool {
	s.mu.Lock()
	s.over = true
	held, timed := s.taken && !s.freed, s.timed
	s.mu.Unlock()
	switch {
	case held && timed:
		s.watch()
		return true
	case held:
		s.Lift()
		return true
	}
	s.leases.ended.Store(true)
	s.cancel(nil)
	return false
}

// watch has the end of the context release everything.
func (s *session) watch() {
	unwatch := context.AfterFunc(s, s.release)
	s.mu.Lock()
	s.unwatch = unwatch
	freed := s.freed
	s.mu.Unlock()
	if freed {
		unwatch()
	}
}

// keep stores a permit, or returns it where everything was already released.
func (s *session) keep(k kept, now clock.Mark) {
	s.mu.Lock()
	freed := s.freed
	if !freed {
		if s.places == nil {
			s.places = s.room[:0]
		}
		s.places = append(s.places, k)
	}
	s.mu.Unlock()
	if freed {
		k.release(now)
	}
}

// has reports whether the session has a place of a cell.
func (s *session) has(c cellRef) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.places, func(k kept) bool { return k.cell == c })
}

// release releases everything.
func (s *session) release() {
	s.mu.Lock()
	places, over, unwatch := s.places, s.over, s.unwatch
	s.places, s.freed = nil, true
	s.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	for _, k := range places {
		k.release(k.cell.now())
	}
	if over {
		s.leases.ended.Store(true)
		s.cancel(nil)
	}
}
