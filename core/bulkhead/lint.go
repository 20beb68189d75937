package bulkhead

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// manyPlaces is far above what one process serves at once by any measure of this project, and
// below the usual bound of descriptors.
const manyPlaces = 10_000

// lint finds a queue that cannot be served in time, and a bulkhead that bounds nothing.
func lint(config mechanism.Config, p mechanism.Around) {
	c := config.(Config)
	if !p.Enforced() {
		return
	}
	if c.Wait > 0 && c.Queue > 0 && c.Queue != limiter.DefaultQueue {
		// The last waiter of a full queue is served when all before it have ended.
		each := mechanism.Times(c.Wait, c.Concurrent) / time.Duration(c.Queue)
		if each < time.Millisecond {
			served := uint64(mechanism.Times(c.Wait, c.Concurrent) / (10 * time.Millisecond))
			p.Warn("queue-too-long", mechanism.Fill("to serve a queue of %d in %s by %d places, an attempt must end within %s", c.Queue, c.Wait, c.Concurrent, each),
				mechanism.Fill("bulkhead: {queue: %d}", max(1, min(uint64(c.Queue)-1, served))))
		}
	}
	if c.Concurrent > manyPlaces {
		gibibytes := strconv.FormatFloat(float64(c.Concurrent)*64/(1<<20), 'f', 1, 64)
		p.Warn("bulkhead-huge", mechanism.Fill("%d calls at once need %s GiB when each holds 64 KiB", c.Concurrent, gibibytes), "bulkhead: {concurrent: 100}")
	}
}

// adjust describes a wait of 0 beside a queue, and the place of a call without a cost.
func adjust(config mechanism.Config, setting string, v *mechanism.Value) {
	switch c := config.(Config); {
	case setting == "cost":
		v.OnePlace()
	case setting == "wait" && c.Wait == 0 && c.Queue > 0:
		v.Text, v.Endless = "as long as the caller does", true
	}
}
