// Package clock holds the only notion of time that Sluice has: a Mark on a
// monotonic line, the arithmetic on it, and two sources of marks.
//
// Marks never mean wall time. Intervals are half open, [start, end): at the
// mark of its end an interval is over.
package clock

import (
	"math"
	"time"
)

// Mark is a point on a monotonic line in nanoseconds from an arbitrary origin.
// Its arithmetic saturates: it never wraps around the ends of the line.
type Mark int64

const (
	// Never is the last mark of the line. As a deadline it means none.
	Never Mark = math.MaxInt64
	// Always is the first mark of the line, before everything else.
	Always Mark = math.MinInt64
)

// Add returns m moved by d, stopping at the ends of the line. Never stays Never.
func (m Mark) Add(d time.Duration) Mark {
	if m == Never {
		return Never
	}
	sum := m + Mark(d)
	switch {
	case d > 0 && sum < m:
		return Never
	case d < 0 && sum > m:
		return Always
	}
	return sum
}

// Sub returns the time from n to m, at most the longest duration either way.
func (m Mark) Sub(n Mark) time.Duration {
	diff := m - n
	if (m < n) != (diff < 0) {
		// What does not fit has the wrong sign: the longest duration has the other one.
		return time.Duration(diff>>63 ^ math.MinInt64)
	}
	return time.Duration(diff)
}

// String shows the mark as the duration since the origin; "never" and "always"
// for the ends of the line.
func (m Mark) String() string {
	switch m {
	case Never:
		return "never"
	case Always:
		return "always"
	}
	return time.Duration(m).String()
}
