package durations_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/internal/durations"
)

func TestRange(t *testing.T) {
	bounds := durations.Bounds()
	assert.True(t, slices.IsSorted(bounds))
	assert.Len(t, bounds, durations.Ranges-1)
	for i, bound := range bounds {
		assert.Equal(t, i, durations.Range(bound), "%s belongs to the range that it ends", bound)
		assert.Equal(t, i+1, durations.Range(bound+1))
		bounds[i] = 0
	}
	assert.NotZero(t, durations.Bounds()[0], "a caller has a copy")
	assert.Zero(t, durations.Range(0))
}

func TestHistogram(t *testing.T) {
	var h durations.Histogram
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				h.Observe(time.Millisecond)
				h.Observe(time.Hour)
				h.Observe(-time.Second)
			}
		})
	}
	all.Wait()
	s := h.Snapshot()
	want := durations.Snapshot{Sum: 400 * (time.Hour + time.Millisecond)}
	want.Counts[0], want.Counts[1], want.Counts[durations.Ranges-1] = 400, 400, 400
	assert.Equal(t, want, s)
	assert.EqualValues(t, 1200, s.Count())
}
