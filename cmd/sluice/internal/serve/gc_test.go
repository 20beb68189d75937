package serve

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 5 << 20: 400, 6 << 20: 400, 8 << 20: 300, 16 << 20: 100, 32 << 20: 100, 500 << 20: 100, 1 << 62: 100,
	} {
		assert.Equal(t, want, gcPercent(live), "%d bytes", live)
	}
}

// TestTunerFollowsTheHeap tunes after collections, until it is stopped.
func TestTunerFollowsTheHeap(t *testing.T) {
	live, seen := make(chan uint64), make(chan int, 1)
	tuner := &tuner{live: func() uint64 { return <-live }, set: func(percent int) int { seen <- percent; return 0 }, present: 400}
	tuner.arm()
	for _, c := range []struct {
		live uint64
		set  int
	}{{8 << 20, 300}, {8 << 20, 0}, {1 << 30, 100}, {1 << 20, 400}} {
		// A collection tunes when the one before has armed the tuner.
		for sent := false; !sent; {
			runtime.GC()
			select {
			case live <- c.live:
				sent = true
			default:
			}
		}
		if c.set > 0 {
			assert.Equal(t, c.set, <-seen)
		}
	}
	tuner.stopped.Store(true)
	assert.Positive(t, liveBytes())
}
