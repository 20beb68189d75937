package attempt

import (
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
)

// base is the origin of the marks of this process.
var base = time.Now()

// Now returns the present mark: one time.Since.
func Now() clock.Mark { return clock.Mark(time.Since(base)) }

// moved is how far the wall clock has moved against the monotonic one when Epoch last took
// note of it.
var moved atomic.Int64

// Epoch returns the wall time of mark 0 since 1970. It stays the same until the wall clock
// and the monotonic one are a second apart, as after a sleep of the machine.
func Epoch() time.Duration {
	began, last, now := base.UnixNano(), moved.Load(), time.Now()
	present := now.UnixNano() - int64(now.Sub(base)) - began
	if far := present - last; far >= int64(time.Second) || far <= -int64(time.Second) {
		moved.Store(present)
		last = present
	}
	return time.Duration(max(0, began+last))
}
