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

// epoch is what Epoch returned last.
var epoch atomic.Int64

// Epoch returns the wall time of mark 0 since 1970. It stays the same until the wall clock
// and the monotonic one are a second apart, as after a sleep of the machine.
func Epoch() time.Duration {
	last := epoch.Load()
	now := time.Now()
	present := now.UnixNano() - int64(now.Sub(base))
	if far := present - last; far < int64(time.Second) && far > -int64(time.Second) {
		return time.Duration(last)
	}
	epoch.Store(present)
	return time.Duration(max(0, present))
}
