package lint_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// horizon is how many instants TestAdmits tries all logs of.
const horizon = 11

// TestAdmits tries every log of some limits, instant by instant, and compares
// the most that any window got with the bound: it is never more, and within
// slack it is reached.
func TestAdmits(t *testing.T) {
	for _, c := range []limiter.Config{
		{Count: 1, Period: 3}, {Count: 2, Period: 5}, {Count: 2, Period: 4, Burst: 1}, {Count: 1, Period: 2, Burst: 2}, {Count: 2, Period: 2},
		{Algorithm: limiter.FixedWindow, Count: 1, Period: 4}, {Algorithm: limiter.FixedWindow, Count: 2, Period: 3},
		{Algorithm: limiter.FixedWindow, Count: 2, Period: 4}, {Algorithm: limiter.FixedWindow, Count: 2, Period: 1},
		{Algorithm: limiter.SlidingCounter, Count: 1, Period: 3}, {Algorithm: limiter.SlidingCounter, Count: 2, Period: 3},
		{Algorithm: limiter.SlidingCounter, Count: 2, Period: 4},
		{Algorithm: limiter.SlidingLog, Count: 1, Period: 3}, {Algorithm: limiter.SlidingLog, Count: 2, Period: 4},
		{Algorithm: limiter.LeakyBucket, Count: 1, Period: 3}, {Algorithm: limiter.LeakyBucket, Count: 2, Period: 5},
	} {
		t.Run(fmt.Sprintf("%d-%d-%d-%d", c.Algorithm, c.Count, c.Period, c.Burst), func(t *testing.T) {
			got := exhaust(t, c)
			// A permit spent to begin a window; and what a previous count
			// weighs in the last nanosecond of a sliding window.
			slack := [...]uint64{0, 1, 2, 0, 0}[c.Algorithm]
			// A window that needs one before it must lie within the horizon.
			for w := range horizon - int(c.Period) {
				most := c.Admits(time.Duration(w))
				if got[w] > most || got[w]+slack < most {
					t.Errorf("window of %dns: got %d, bound %d", w, got[w], most)
				}
			}
		})
	}
}

// exhaust returns the most that windows of each length got in any log.
func exhaust(t *testing.T, c limiter.Config) [horizon]uint64 {
	t.Helper()
	m, err := limiter.New(c)
	return search[limiter.State](t, m, err)
}

func search[S any](t *testing.T, m reducer.Cell[S], err error) (best [horizon]uint64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var granted [horizon]uint64
	var visit func(s S, at int)
	visit = func(s S, at int) {
		if at == horizon {
			for from := range granted {
				total := uint64(0)
				for to := from; to < horizon; to++ {
					total += granted[to]
					best[to-from] = max(best[to-from], total)
				}
			}
			return
		}
		for n := uint64(0); ; n++ {
			granted[at] = n
			visit(reducer.ValuesOf(m).Clone(s), at+1)
			if m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, clock.Mark(at), nil).Verdict != reducer.Admit {
				break
			}
		}
		granted[at] = 0
	}
	visit(reducer.ValuesOf(m).Init(0), 0)
	return best
}

// TestAdmitsExtremes checks that nothing overflows at the ends of the ranges.
func TestAdmitsExtremes(t *testing.T) {
	const hour = time.Hour
	for _, test := range []struct {
		config limiter.Config
		window time.Duration
		want   uint64
	}{
		{limiter.Config{Count: 50, Period: time.Minute}, time.Minute, 100},
		{limiter.Config{Count: 50, Period: time.Minute, Burst: 10}, time.Minute, 60},
		{limiter.Config{Count: 1_000_000_000, Period: time.Second, Burst: 1_000_000_000}, hour, 3601_000_000_000},
		{limiter.Config{Algorithm: limiter.FixedWindow, Count: 1_000_000_000, Period: 1}, 1<<63 - 1, 1<<64 - 1},
		{limiter.Config{Algorithm: limiter.SlidingCounter, Count: 1_000_000_000, Period: 1}, 1<<63 - 1, 1<<64 - 1},
		{limiter.Config{Algorithm: limiter.SlidingCounter, Count: 100, Period: time.Minute}, time.Minute, 199},
		{limiter.Config{Algorithm: limiter.FixedWindow, Count: 100, Period: time.Minute}, time.Minute, 200},
		{limiter.Config{Algorithm: limiter.FixedWindow, Count: 100, Period: time.Minute}, hour, 6100},
		{limiter.Config{Algorithm: limiter.FixedWindow, Count: 5, Period: 1 << 62}, 1<<63 - 1, 15},
		{limiter.Config{Count: 5, Period: time.Second}, -1, 5},
		{limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: time.Second}, time.Second, 6},
		{limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: time.Second}, time.Second - 1, 3},
		{limiter.Config{Algorithm: limiter.SlidingLog, Count: 10_000, Period: 1 << 62}, 1<<63 - 1, 20_000},
		{limiter.Config{Algorithm: limiter.LeakyBucket, Count: 10, Period: time.Second}, time.Second, 11},
		{limiter.Config{Algorithm: limiter.LeakyBucket, Count: 10, Period: time.Second}, 0, 1},
	} {
		if got := test.config.Admits(test.window); got != test.want {
			t.Errorf("%+v in %s: got %d, want %d", test.config, test.window, got, test.want)
		}
	}
}
