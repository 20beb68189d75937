package keyedcells_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/internal/keyedcells"
)

// TestEvicted evicts keys while evictions are watched and while they are not.
func TestEvicted(t *testing.T) {
	maker, err := breaker.Cells(breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 1}})
	require.NoError(t, err)
	watched := false
	config := keyedcells.Config{Config: keyed.Config{Keys: 2}, Maker: maker, Names: true, Watched: func() bool { return watched }}
	cells, err := keyedcells.New(config)
	require.NoError(t, err)
	use := func(from, to int) {
		for i := from; i < to; i++ {
			r, _, _ := cells.Use(fmt.Sprint(i), 0)
			r.Unlock()
		}
	}
	use(0, 4)
	assert.False(t, cells.Evicts())
	watched = true
	use(4, 6)
	assert.True(t, cells.Evicts())
	assert.Equal(t, []string{"2", "3"}, cells.Evicted())
	assert.Empty(t, cells.Evicted())
	config.Keys = 1
	require.NoError(t, cells.Configure(config, 0, func(_ keyedcells.Ref, old cell.Cell, _ cell.Maker) cell.Cell { return old }))
	assert.Equal(t, []string{"4"}, cells.Evicted(), "fewer keys evict, too")
}
