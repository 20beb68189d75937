package limiter

import (
	"time"

	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Algorithm names how a limiter counts.
type Algorithm uint8

// The algorithms.
const (
	// TokenBucket refills one permit after another, up to a burst (GCRA).
	TokenBucket Algorithm = iota
	// FixedWindow gives a count of permits to each window, which opens with
	// the first admission that finds none open.
	FixedWindow
	// SlidingCounter weighs the previous window's count by how much of it the
	// trailing window still covers.
	SlidingCounter
	// SlidingLog keeps the mark of each admission for one period.
	SlidingLog
	// LeakyBucket admits one permit after another and has no burst.
	LeakyBucket
)

// Order says which waiter is served next.
type Order uint8

// The orders.
const (
	Oldest Order = iota
	Newest
)

// MaxCount is the greatest number of permits in a rate or a burst.
const MaxCount = tokenbucket.MaxCount

// MaxQueue is the longest queue of any mechanism.
const MaxQueue = 10_000

// Config is what a limiter is made of.
type Config struct {
	Algorithm Algorithm
	// Count permits for each Period. Required, 1 to MaxCount, at most one
	// permit a nanosecond.
	Count uint32
	// Period of the rate. Required, more than 0.
	Period time.Duration
	// Burst is the most permits at one instant, 1 to MaxCount. Token bucket
	// alone; 0 means Count.
	Burst uint32
	// Wait is the longest that a caller may wait for its turn. 0 refuses at once.
	Wait time.Duration
	// Queue is the most callers that may wait, 1 to MaxQueue; 0 exactly when
	// Wait is.
	Queue uint32
	// Order in which waiters are served.
	Order Order
}

// Waiting is the part of a configuration that concerns the queue.
type Waiting struct {
	Wait  time.Duration
	Queue uint32
	Order Order
}

// Check returns an error that names the field which is wrong.
func (w Waiting) Check() error {
	switch {
	case w.Wait < 0:
		return reducer.BadDuration("wait", w.Wait, "0 or more")
	case w.Queue > MaxQueue:
		return reducer.BadCount("queue", uint64(w.Queue), "at most 10000")
	case w.Wait > 0 && w.Queue == 0:
		return reducer.BadCount("queue", 0, "1 to 10000 beside wait")
	case w.Wait == 0 && w.Queue > 0:
		return reducer.BadCount("queue", uint64(w.Queue), "0 without wait")
	case w.Order > Newest:
		return reducer.BadCount("order", uint64(w.Order), "Oldest or Newest")
	}
	return nil
}
