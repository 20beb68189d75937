// Package durations counts durations in the ranges that all histograms of Sluice have.
package durations

import (
	"slices"
	"sync/atomic"
	"time"
)

// bounds are the inclusive upper ends of the ranges, from a refusal to the longest of
// timeouts. One more range has what is longer.
var bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond,
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
}

// Ranges is the number of ranges.
const Ranges = len(bounds) + 1

// Bounds returns the upper ends of all ranges but the last.
func Bounds() []time.Duration { return slices.Clone(bounds[:]) }

// Range returns the index of the range of a duration.
func Range(d time.Duration) int {
	low, high := 0, len(bounds)
	for low < high {
		if mid := (low + high) / 2; bounds[mid] < d {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Histogram counts durations by range. Its zero value is empty. It is safe for
// concurrent use.
type Histogram struct {
	sum    atomic.Int64
	counts [Ranges]atomic.Uint64
}

// Observe counts a duration and returns its range. A negative one counts as 0.
func (h *Histogram) Observe(d time.Duration) int {
	d = max(0, d)
	i := Range(d)
	h.sum.Add(int64(d))
	h.counts[i].Add(1)
	return i
}

// Snapshot is what a Histogram has counted.
type Snapshot struct {
	// Sum of all durations.
	Sum time.Duration
	// Counts of the ranges.
	Counts [Ranges]uint64
}

// Snapshot returns the counts. A duration that is counted meanwhile may be in the counts
// and not in the sum.
func (h *Histogram) Snapshot() (s Snapshot) {
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	s.Sum = time.Duration(h.sum.Load())
	return s
}

// Count returns how many durations were counted.
func (s *Snapshot) Count() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}
