package readmostly_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/internal/readmostly"
)

// TestOnce has goroutines ask for the same keys: each value is built once, so that no
// count in it is lost.
func TestOnce(t *testing.T) {
	var m readmostly.Map[int, *atomic.Int64]
	assert.Empty(t, m.All())
	var built atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 400 {
				m.Get(i%40, func(int) *atomic.Int64 { built.Add(1); return new(atomic.Int64) }).Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 40, built.Load())
	assert.Len(t, m.All(), 40)
	for key, n := range m.All() {
		assert.EqualValues(t, 80, n.Load(), key)
	}
}
