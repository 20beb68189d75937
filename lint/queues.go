package lint

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// Servable returns the most callers that can wait at a cell of a limit at once,
// whatever its queue: those whose turns come within its wait. It returns false
// where there is no such bound.
func Servable(c limiter.Config) (most uint64, ok bool) {
	if c.Wait == 0 || c.Order != limiter.Oldest || c.Algorithm != limiter.TokenBucket && c.Algorithm != limiter.LeakyBucket {
		return 0, false
	}
	// The turns are in (now, now + wait], an interval apart.
	return uint64((c.Wait-1)/c.Interval()) + 1, true
}

// checkQueues finds queues with places that no call can use. It ignores a queue of
// the default length, which the document does not state.
func checkQueues(a *analysis) {
	for i := range a.steps {
		if queue, _ := a.queue(i); queue == 0 || queue == limiter.DefaultQueue {
			continue
		}
		switch c := a.steps[i].Config.(type) {
		case limiter.Config:
			if most, ok := Servable(c); ok && uint64(c.Queue) > most {
				a.find(Warning, LongQueue, i, fmt.Sprintf("the wait of %s has room for %d turns, one each %s: %d of the %d places of the queue are never taken", Duration(c.Wait), most, Duration(c.Interval()), uint64(c.Queue)-most, c.Queue),
					fmt.Sprintf("limit: {queue: %d}", most))
			}
		case bulkhead.Config:
			// The last waiter of a full queue is served when all before it have
			// ended.
			each := times(c.Wait, c.Concurrent) / time.Duration(c.Queue)
			if c.Wait > 0 && each < time.Millisecond {
				a.find(Warning, LongQueue, i, fmt.Sprintf("to serve a queue of %d in %s by %d places, an attempt must end within %s", c.Queue, Duration(c.Wait), c.Concurrent, Duration(each)),
					fmt.Sprintf("bulkhead: {queue: %d}", max(1, min(uint64(c.Queue)-1, uint64(times(c.Wait, c.Concurrent)/(10*time.Millisecond))))))
			}
		}
	}
	for i := range a.steps {
		a.checkSum(i)
	}
}

// checkSum finds timeouts that the waits below them can use up together. A single
// wait that does so is another finding.
func (a *analysis) checkSum(i int) {
	if !a.enforced(i, mechanism.Cuts) {
		return
	}
	after, sum := a.after(i), a.waits(i)
	for j := i + 1; j < len(a.steps); j++ {
		if a.wait(j) >= after {
			return
		}
	}
	if sum < after || sum == forever {
		return
	}
	terms := ""
	for j := i + 1; j < len(a.steps); j++ {
		if wait := a.wait(j); wait > 0 {
			if terms != "" {
				terms += " + "
			}
			terms += fmt.Sprintf("%s (%s)", Duration(wait), a.steps[j].Name)
		}
	}
	a.find(Warning, LateWaits, i, fmt.Sprintf("an attempt may wait for %s, and %s cuts after %s", terms, a.steps[i].Name, Duration(after)),
		fmt.Sprintf("timeout: {after: %s}", Duration(plus(sum, sum))))
}

// manyPlaces is far above what one process serves at once by any measure of this
// project, and below the usual bound of descriptors.
const manyPlaces = 10_000

// checkBulkheads finds bulkheads that bound nothing.
func checkBulkheads(a *analysis) {
	for i := range a.steps {
		c, ok := a.steps[i].Config.(bulkhead.Config)
		if !ok || a.steps[i].Shadow || c.Concurrent <= manyPlaces {
			continue
		}
		a.find(Warning, HugeBulkhead, i, fmt.Sprintf("%d calls at once need %.1f GiB when each holds 64 KiB", c.Concurrent, float64(c.Concurrent)*64/(1<<20)), "bulkhead: {concurrent: 100}")
	}
}
