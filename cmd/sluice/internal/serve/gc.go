package serve

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// A proxy has a live heap of a few megabytes and much garbage: at the default of
// GOGC, 100, the collector takes 5 % of the processor, at 400 a quarter of that. With
// the cells of many keys the live heap is larger, 11 MiB for 100,000, and 400 would mean
// five times its size. So a heap grows by 400 % only as long as it stays below a size,
// with which a proxy has less than 60 MB resident, and always by 100 %.
const (
	heapBytes      = 32 << 20
	mostGCPercent  = 400
	leastGCPercent = 100
)

// gcPercent returns GOGC for a live heap of a size.
func gcPercent(live uint64) int {
	room := heapBytes - min(live, heapBytes)
	return int(min(max(room*100/max(live, 1), leastGCPercent), mostGCPercent))
}

// tuner sets GOGC after each collection.
type tuner struct {
	live    func() uint64
	set     func(percent int) (before int)
	present int
	stopped atomic.Bool
}

// tune begins to tune the process, until stop.
func tune() (stop func()) {
	t := &tuner{live: liveBytes, set: debug.SetGCPercent, present: mostGCPercent}
	before := t.set(t.present)
	t.arm()
	return func() {
		t.stopped.Store(true)
		t.set(before)
	}
}

// sentinel is an object that the next collection finds unused. The pointer keeps it
// out of the allocator of tiny objects, which live in groups.
type sentinel struct{ _ *int }

// arm has the next collection tune.
func (t *tuner) arm() {
	runtime.AddCleanup(&sentinel{}, (*tuner).collected, t)
}

func (t *tuner) collected() {
	if t.stopped.Load() {
		return
	}
	if percent := gcPercent(t.live()); percent != t.present {
		t.present = percent
		t.set(percent)
	}
	t.arm()
}

// liveBytes returns the size of what the latest collection found in use.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
