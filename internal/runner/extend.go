package runner

import (
	"context"

	"github.com/sluice-go/sluice/reducer"
)

// Extend is Extend of the public package.
func Extend(ctx context.Context) (done func(reducer.Outcome)) {
	s := sessionOf(ctx)
	if s == nil || !s.holdable || s.number != 0 {
		return func(reducer.Outcome) {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.extended = true
	}
	return s.done
}

// done settles an attempt that goes on beyond its function.
func (s *session) done(o reducer.Outcome) {
	s.mu.Lock()
	r := s.owner
	s.owner = nil
	if !s.told {
		s.told, s.outcome = true, o
	}
	s.mu.Unlock()
	if r != nil {
		r.settleExtended(o)
	}
}

// extends reports whether the attempt, whose function succeeded, goes on.
func (s *session) extends() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.extended
}

// handOver leaves the run to done. The caller does not use it any more.
func (r *run) handOver() {
	s := r.session
	s.mu.Lock()
	told := s.told
	if !told {
		s.owner = r
	}
	s.mu.Unlock()
	if told {
		r.settleExtended(s.outcome)
	}
}

// settleExtended ends a call whose value has been returned.
func (r *run) settleExtended(o reducer.Outcome) {
	r.extended, r.done = false, false
	defer r.ended()
	r.call.NoRetry = true
	if r.request.NoRetry == "" {
		r.request.NoRetry = "the value of the attempt has been returned"
	}
	// There is no caller any more who could have the error.
	_, _ = r.settle(o, false, 0, nil)
	r.done = true
}
