package clock

import (
	"sync/atomic"
	"time"
)

// Source returns the present mark. It must never go backwards for long: machines
// count an earlier mark as the last one that they saw.
type Source interface {
	Now() Mark
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

// Virtual is a source that moves only by its methods. It is safe for
// concurrent use, and its zero value is at mark 0.
type Virtual struct {
	now atomic.Int64
}

// Now implements Source.
func (s *Virtual) Now() Mark { return Mark(s.now.Load()) }

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
