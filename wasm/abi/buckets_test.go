package abi

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// TestBucketsAreLimiters: histories of many buckets leave the same slots, states and codes as
// histories of limiters.
func TestBucketsAreLimiters(t *testing.T) {
	seed := testenv.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	var small Buckets
	var whole Module
	var cells [][2]uint32
	rate := limiter.Config{Count: 3, Period: 100 * time.Millisecond, Burst: 4}
	makers := [2]uint32{
		uint32(small.Limiter(values(t, &small.Module, rate, limiter.Plan))), uint32(whole.Limiter(values(t, &whole, rate, limiter.Plan))),
	}
	both := func(ours, theirs int32) int32 {
		t.Helper()
		if ours != theirs {
			t.Fatalf("seed %d: %d, of a limiter %d", seed, ours, theirs)
		}
		return ours
	}
	kinds := []reducer.Kind{reducer.TryAcquire, reducer.Acquire, reducer.Peek, reducer.Cancel, reducer.Reset, reducer.Tick, reducer.Serve}
	for range 50_000 {
		now := math.NaN()
		if r.IntN(3) > 0 {
			now = float64(r.IntN(5000)) + r.Float64()
		}
		if len(cells) == 0 || r.IntN(20) == 0 {
			cell := [2]uint32{uint32(small.Cell(makers[0], now)), uint32(whole.Cell(makers[1], now))}
			cells = append(cells, cell)
		}
		i := r.IntN(len(cells))
		c := cells[i]
		switch r.IntN(12) {
		case 0:
			both(small.Free(c[0]), whole.Free(c[1]))
			both(small.Free(c[0]), whole.Free(c[1]))
			cells[i] = cells[len(cells)-1]
			cells = cells[:len(cells)-1]
			continue
		case 1:
			size := both(small.State(c[0]), whole.State(c[1]))
			require.Equal(t, whole.Buffer[:size], small.Buffer[:size])
			by := math.NaN()
			if r.IntN(2) == 0 {
				by = float64(r.IntN(100))
			}
			to := cells[r.IntN(len(cells))]
			both(small.Restore(to[0], uint32(size), by, now), whole.Restore(to[1], uint32(size), by, now))
		case 2, 3, 4:
			cost := r.Uint32N(6)
			both(small.Acquire(c[0], cost, 1, now), whole.Acquire(c[1], cost, 1, now))
		default:
			kind, cost := uint32(kinds[r.IntN(len(kinds))]), r.Uint32N(6)
			both(small.Step(c[0], kind, 0, cost, now), whole.Step(c[1], kind, 0, cost, now))
		}
		a, b := &small.Slots, &whole.Slots
		if a.Reason != b.Reason || a.Permit != b.Permit || a.Count != b.Count || a.Millis != b.Millis {
			t.Fatalf("seed %d: slots %+v, of a limiter %+v", seed, a, b)
		}
	}
}

// TestBucketSettings: buckets are made of the settings of a limiter, as limiter.Plan writes
// them, where it is a token bucket without a queue and has no other setting.
func TestBucketSettings(t *testing.T) {
	var small Buckets
	var whole Module
	rate := limiter.Config{Count: 5, Period: time.Second}
	with := func(change func(*limiter.Config)) limiter.Config {
		c := rate
		change(&c)
		return c
	}
	made := 0
	for name, c := range map[string]limiter.Config{
		"rate": rate, "burst": with(func(c *limiter.Config) { c.Burst = 1000 }), "longest": {Count: 1, Period: 1 << 62},
		"greatest": {Count: limiter.MaxCount, Period: time.Hour, Burst: 1}, "too long": {Count: 1, Period: 1<<63 - 1}, "none": {},
		"window": with(func(c *limiter.Config) { c.Algorithm = limiter.FixedWindow }),
		"leaky":  with(func(c *limiter.Config) { c.Algorithm = limiter.LeakyBucket }),
		"wait":   with(func(c *limiter.Config) { c.Wait, c.Queue = time.Second, 1 }), "queue": with(func(c *limiter.Config) { c.Queue = 1 }),
		"order": with(func(c *limiter.Config) { c.Order = limiter.Newest }),
		"cost":  with(func(c *limiter.Config) { c.Cost.Permits = 2 }), "attribute": with(func(c *limiter.Config) { c.Cost.Attribute = "x" }),
		"charge": with(func(c *limiter.Config) { c.Charge = limiter.ChargeEnd }), "counts": with(func(c *limiter.Config) { c.Counts = 1 }),
		"settles": with(func(c *limiter.Config) { c.Charge, c.SettleMax = limiter.ChargeSettle, 5 }),
		"block": with(func(c *limiter.Config) {
			c.Block = limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Constant, Base: 1}}
		}),
		"warm": with(func(c *limiter.Config) { c.WarmUp = limiter.WarmUp{Over: 1, Factor: 3} }),
	} {
		_, err := limiter.New(c)
		plain := c == limiter.Config{Count: c.Count, Period: c.Period, Burst: c.Burst} && err == nil
		size := values(t, &small.Module, c, limiter.Plan)
		src := string(small.Buffer[:size])
		code := small.Limiter(size)
		if !plain {
			assert.Equal(t, BadPolicy, code, name)
			continue
		}
		made++
		require.Positive(t, code, name)
		bucket, cell := uint32(small.Cell(uint32(code), 0)), limiterOf(t, &whole, c)
		for _, cost := range []uint32{1, 4, 1000} {
			require.Equal(t, whole.Acquire(cell, cost, 0, 0), small.Acquire(bucket, cost, 0, 0), name)
			require.Equal(t, whole.Slots.Permit, small.Slots.Permit, name)
		}
		for n := range src {
			assert.Equal(t, BadPolicy, small.Limiter(write(t, &small.Module, src[:n])), name)
		}
		assert.Equal(t, BadPolicy, small.Limiter(write(t, &small.Module, src+"\x00")), name)
	}
	assert.Equal(t, 4, made)
	assert.Equal(t, BadSize, small.Limiter(9999))
}

// TestBucketsRefuse: what is wrong is a code, and changes nothing.
func TestBucketsRefuse(t *testing.T) {
	var m Buckets
	maker := uint32(m.Limiter(values(t, &m.Module, limiter.Config{Count: 5, Period: time.Second}, limiter.Plan)))
	cell := uint32(m.Cell(maker, 0))
	nan := math.NaN()
	assert.Equal(t, BadHandle, m.Cell(cell, 0))
	assert.Equal(t, BadHandle, m.Step(maker, uint32(reducer.Peek), 0, 1, 0))
	assert.Equal(t, BadHandle, m.State(maker))
	assert.Equal(t, BadHandle, m.Restore(maker, 0, nan, 0))
	assert.Equal(t, BadHandle, m.Free(0))
	assert.Equal(t, BadArgument, m.Step(cell, 256, 0, 1, 0))
	assert.Equal(t, BadSize, m.Restore(cell, 9999, nan, 0))
	assert.Equal(t, BadSize, m.Reserve(MaxBuffer+1))
	assert.Equal(t, int32(0), m.Reserve(3000))
	assert.Len(t, m.Buffer, 4096)
	assert.Equal(t, BadBytes, m.Restore(cell, 3000, nan, 0))
	assert.Equal(t, int32(reducer.Admit), m.Acquire(cell, 5, 0, 0))
}

// TestBucketsWithoutRoom: an instance without memory refuses what is new, and serves
// what there is.
func TestBucketsWithoutRoom(t *testing.T) {
	room := true
	m := Buckets{Room: func(uint32) bool { return room }}
	maker := uint32(m.Limiter(values(t, &m.Module, limiter.Config{Count: 5, Period: time.Second}, limiter.Plan)))
	cell := uint32(m.Cell(maker, 0))
	for range partSize - 2 {
		require.Positive(t, m.Cell(maker, 0))
	}
	room = false
	assert.Equal(t, NoMemory, m.Cell(maker, 0))
	assert.Equal(t, int32(reducer.Admit), m.Acquire(cell, 5, 0, 0))
	require.Zero(t, m.Free(cell))
	again := m.Cell(maker, 0)
	require.Positive(t, again)
	assert.NotEqual(t, cell, uint32(again))
	assert.Equal(t, NoMemory, m.Reserve(5000))
	room = true
	assert.Positive(t, m.Cell(maker, 0))
}
