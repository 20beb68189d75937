package clock

import (
	"sync/atomic"
	"time"
)

// Source returns the present mark. It must never go backwards for long: machines
// count an earlier mark as the last one that they saw, and a token bucket alone in Go,
// which keeps none, decides at the earlier one, where fewer permits are free.
type Source interface {
	Now() Mark
}

// Dated is a source whose marks have wall times, which windows of the calendar need. A
// source that is not Dated has the times of the machine's wall clock when a policy is read, to
// the second.
type Dated interface {
	Source
	// Epoch returns the wall time of mark 0. One before 1970 counts as 1970.
	Epoch() time.Time
}

// Monotonic reads the machine's monotonic clock, one time.Since a call. Its
// origin is the moment at which it was made.
type Monotonic struct {
	base time.Time
}

// NewMonotonic returns a source whose origin is now.
func NewMonotonic() Monotonic { return Monotonic{base: time.Now()} }

// Now implements Source.
func (s Monotonic) Now() Mark { return Mark(time.Since(s.base)) }

// Epoch implements Dated.
func (s Monotonic) Epoch() time.Time { return s.base }

// Virtual is a source that moves only by its methods. It is safe for
// concurrent use, and its zero value is at mark 0.
type Virtual struct {
	now atomic.Int64
}

// Now implements Source.
func (s *Virtual) Now() Mark { return Mark(s.now.Load()) }

// Epoch implements Dated: mark 0 is 1970-01-01T00:00:00Z, as in sluice eval.
func (s *Virtual) Epoch() time.Time { return time.Unix(0, 0).UTC() }

// Advance moves the source forward by d and returns the new mark. A negative d
// moves nothing: the line is monotonic.
func (s *Virtual) Advance(d time.Duration) Mark {
	return s.Set(s.Now().Add(d))
}

// Set moves the source to m and returns the present mark. A mark before the
// present one moves nothing.
func (s *Virtual) Set(m Mark) Mark {
	for {
		old := s.now.Load()
		if int64(m) <= old {
			return Mark(old)
		}
		if s.now.CompareAndSwap(old, int64(m)) {
			return m
		}
	}
}
