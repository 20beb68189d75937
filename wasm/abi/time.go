package abi

import (
	"math"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// nanos is the number of nanoseconds in a millisecond.
const nanos = 1e6

// bound is the least float that is no int64.
const bound = 1 << 63

// mark reads a time: milliseconds truncated to nanoseconds, from the first to
// the last mark. NaN means Slots.Now where that is given, else last.
func (m *Module) mark(millis float64, last clock.Mark) clock.Mark {
	if !math.IsNaN(millis) {
		return onLine(clock.Mark(whole(millis)))
	}
	if m.Slots.Exact&ExactNow == 0 {
		return last
	}
	m.Slots.Exact &^= ExactNow
	return onLine(m.Slots.Now)
}

// onLine moves the two ends of the line, which are no marks, to those beside
// them.
func onLine(at clock.Mark) clock.Mark { return min(max(at, clock.Always+1), clock.Never-1) }

// span reads a duration as mark reads a time. It returns false for none: NaN
// without Slots.Span.
func (m *Module) span(millis float64) (time.Duration, bool) {
	if !math.IsNaN(millis) {
		return time.Duration(whole(millis)), true
	}
	if m.Slots.Exact&ExactSpan == 0 {
		return 0, false
	}
	m.Slots.Exact &^= ExactSpan
	return time.Duration(m.Slots.Span), true
}

// whole truncates milliseconds to nanoseconds.
func whole(millis float64) int64 {
	n := millis * nanos
	switch {
	case n >= bound:
		return math.MaxInt64
	case n <= -bound:
		return math.MinInt64
	}
	return int64(n)
}

// millisOf returns the least milliseconds, in the steps of a float, that are
// not before the nanoseconds when they are read again.
func millisOf(n int64) float64 {
	millis := float64(n) / nanos
	for whole(millis) < n {
		millis = math.Nextafter(millis, math.Inf(1))
	}
	return millis
}

// millisUntil returns the milliseconds from now to a mark, 0 for an earlier one, -1 for
// clock.Never.
func millisUntil(at, now clock.Mark) float64 {
	if at == clock.Never {
		return -1
	}
	return millisOf(max(0, int64(at.Sub(now))))
}

// wakes writes the mark of the next wake to the slots.
func (m *Module) wakes(at clock.Mark) {
	m.Slots.Wake = at
	if at == clock.Never {
		m.Slots.WakeMillis = math.Inf(1)
	} else {
		m.Slots.WakeMillis = millisOf(int64(at))
	}
}
