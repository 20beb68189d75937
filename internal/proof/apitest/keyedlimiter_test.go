package apitest_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
)

func perKey(t testing.TB, c limiter.Config, options ...sluice.Option) *sluice.KeyedLimiter {
	t.Helper()
	l, err := sluice.NewKeyedLimiter(c, options...)
	require.NoError(t, err)
	return l
}

func TestKeyedLimiter(t *testing.T) {
	for _, a := range algorithms {
		var source clock.Virtual
		l := perKey(t, limiter.Config{Algorithm: a, Count: 2, Period: time.Second}, sluice.WithClock(&source))
		assert.Zero(t, l.Len())
		free, after := l.Peek("a", 1)
		assert.EqualValues(t, 2, free)
		assert.Zero(t, after)
		assert.True(t, l.Allow("a"))
		assert.True(t, l.Allow("a"))
		assert.False(t, l.Allow("a"))
		assert.True(t, l.AllowN("b", 2))
		assert.False(t, l.AllowN("c", 3))
		assert.True(t, l.AllowN("c", 0))
		free, after = l.Peek("a", 1)
		assert.Zero(t, free)
		assert.Positive(t, after)
		_, never := l.Peek("a", 3)
		assert.Negative(t, never)
		assert.Equal(t, 2, l.Len())
		source.Advance(after)
		assert.True(t, l.Allow("a"))
		source.Advance(time.Minute)
		assert.Zero(t, l.Len())
		assert.Zero(t, l.Evictions())
	}
	_, err := sluice.NewKeyedLimiter(limiter.Config{Count: 1, Period: time.Second, Wait: time.Second, Queue: 1})
	require.Error(t, err)
	_, err = sluice.NewKeyedLimiter(limiter.Config{Count: 1})
	require.Error(t, err)
}

// buckets is the naive keyed limiter: a map that keeps every key.
type buckets struct {
	machine *tokenbucket.Machine
	states  map[string]clock.Mark
}

func (b *buckets) allow(key string, n uint32, now clock.Mark) bool {
	tat, known := b.states[key]
	if !known {
		tat = now
	}
	tat, ok := b.machine.Take(tat, n, now)
	b.states[key] = tat
	return ok
}

// lacking returns how many keys do not have all their permits.
func (b *buckets) lacking(now clock.Mark) (n int) {
	for _, tat := range b.states {
		if tat > now {
			n++
		}
	}
	return n
}

// TestKeyedLimiterIsAMapOfBuckets compares every decision with a map, for small
// maxima that the keys exceed and for many shards. After an eviction time passes
// until all buckets are full, so that it is unobservable.
func TestKeyedLimiterIsAMapOfBuckets(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(11, seed))
		c := limiter.Config{Count: 1 + rng.Uint32N(4), Period: time.Duration(1+rng.IntN(1_000)) * time.Microsecond, Burst: 1 + rng.Uint32N(5)}
		machine, err := tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst})
		require.NoError(t, err)
		naive := &buckets{machine, map[string]clock.Mark{}}
		most := []int{7, 40, 1_500}[seed%3]
		var source clock.Virtual
		source.Set(clock.Mark(rng.Int64N(1 << 40)))
		l := perKey(t, c, sluice.WithClock(&source), sluice.WithMaxKeys(most))
		evictions := uint64(0)
		for i := range 4_000 {
			key := strconv.Itoa(rng.IntN(2 * most))
			n := rng.Uint32N(c.Burst + 2)
			now := source.Now()
			if rng.IntN(10) == 0 {
				free, _ := l.Peek(key, n)
				tat, known := naive.states[key]
				if !known {
					tat = now
				}
				require.Equal(t, machine.Free(tat, now), free)
			}
			require.Equal(t, naive.allow(key, n, now), l.AllowN(key, n), "seed %d, step %d", seed, i)
			if rng.IntN(500) == 0 && l.Evictions() == evictions {
				require.Equal(t, naive.lacking(now), l.Len())
			}
			if l.Evictions() > evictions {
				evictions = l.Evictions()
				source.Advance(time.Duration(c.Burst) * c.Period)
			} else if rng.IntN(3) == 0 {
				source.Advance(time.Duration(rng.Int64N(int64(c.Period) / 4)))
			}
		}
		assert.Less(t, evictions, uint64(1_000), "seed %d", seed)
	}
}

// TestKeyedLimiterServesNewKeys floods a limiter with keys above its maximum: new
// keys are served, and those in use keep their state.
func TestKeyedLimiterServesNewKeys(t *testing.T) {
	for _, a := range algorithms {
		for _, most := range []int{1, 10, 5_000} {
			var source clock.Virtual
			c := rate(3, time.Hour)
			c.Algorithm = a
			l := perKey(t, c, sluice.WithClock(&source), sluice.WithMaxKeys(most))
			served := 0
			for i := range 4 * most {
				assert.True(t, l.AllowN("new "+strconv.Itoa(i), 3))
				assert.False(t, l.AllowN("new "+strconv.Itoa(i), 1))
				if most > 1 && i%(most/2-1) == 0 && l.Allow("in use") {
					served++
				}
			}
			if most > 1 {
				assert.Equal(t, 3, served, "fewer than half of the keys were used between two uses")
			}
			assert.EqualValues(t, 4*most+min(1, most-1)-most, l.Evictions())
			source.Advance(4 * time.Hour)
			assert.True(t, l.Allow("late"))
			assert.Equal(t, 1, l.Len())
			assert.EqualValues(t, 4*most+min(1, most-1)-most, l.Evictions(), "the eviction of a full bucket does not count")
		}
	}
}

// TestKeyedLimiterRefusalsAreUses has a key keep its place by refused requests.
func TestKeyedLimiterRefusalsAreUses(t *testing.T) {
	l := perKey(t, rate(1, time.Hour), sluice.WithMaxKeys(4))
	assert.True(t, l.Allow("a"))
	for i := range 100 {
		assert.False(t, l.Allow("a"))
		assert.True(t, l.Allow("new "+strconv.Itoa(i)))
	}
	assert.EqualValues(t, 97, l.Evictions())
	assert.False(t, l.AllowN("too much", 2))
	assert.EqualValues(t, 98, l.Evictions(), "a refused new key gets a place, too")
	assert.True(t, l.Allow("last"), "the place of the last key is free")
	assert.EqualValues(t, 99, l.Evictions())
	free, _ := l.Peek("unknown", 1)
	assert.EqualValues(t, 1, free)
	assert.EqualValues(t, 99, l.Evictions(), "a Peek is no use")
}

// TestInventedKeys: who invents keys neither ends the block of a key nor gives it its permits
// back, with one key after another or with all of them in parts of a table.
func TestInventedKeys(t *testing.T) {
	for name, c := range map[string]limiter.Config{
		"used up": {Count: 5, Period: time.Hour},
		"window":  {Algorithm: limiter.FixedWindow, Count: 5, Period: time.Hour},
		"blocked": {Count: 5, Period: time.Hour, Block: limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Constant, Base: 24 * time.Hour}}},
	} {
		t.Run(name, func(t *testing.T) {
			var source clock.Virtual
			for _, most := range []int{10, 1_000, 100_000} {
				names := min(12*most, 250_000)
				l := perKey(t, c, sluice.WithMaxKeys(most), sluice.WithClock(&source))
				for range 6 {
					l.Allow("victim")
				}
				_, before := l.Peek("victim", 1)
				for i := range names {
					require.True(t, l.Allow("name "+strconv.Itoa(i)))
				}
				assert.GreaterOrEqual(t, l.Evictions(), uint64(names-most))
				_, after := l.Peek("victim", 1)
				assert.Equal(t, before, after, "of %d keys the victim is forgotten", most)
				assert.False(t, l.Allow("victim"))
			}
		})
	}
}

// TestHalfOfTheKeysMayBeBlocked: above that the limit alone refuses, and blocks that end
// make room.
func TestHalfOfTheKeysMayBeBlocked(t *testing.T) {
	var source clock.Virtual
	c := limiter.Config{Count: 1, Period: time.Minute, Block: limiter.Block{After: 1, For: backoff.Config{Kind: backoff.Constant, Base: time.Hour}}}
	l := perKey(t, c, sluice.WithMaxKeys(10), sluice.WithClock(&source))
	blocked := func(key string) bool {
		l.Allow(key)
		l.Allow(key)
		_, after := l.Peek(key, 1)
		return after > time.Minute
	}
	for i := range 10 {
		assert.Equal(t, i < 5, blocked(strconv.Itoa(i)), "key %d", i)
	}
	source.Advance(time.Hour)
	assert.True(t, blocked("9"), "the blocks are over")
}

// TestKeyedLimiterForgetsNothingBeforeItsMark has the source step back behind
// a mark at which a key was forgotten.
func TestKeyedLimiterForgetsNothingBeforeItsMark(t *testing.T) {
	var source settable
	l := perKey(t, rate(1, time.Second), sluice.WithClock(&source), sluice.WithMaxKeys(1))
	assert.True(t, l.Allow("a"))
	source.now = clock.Mark(time.Second)
	assert.True(t, l.Allow("b"), "in the place of a")
	source.now = clock.Mark(500 * time.Millisecond)
	assert.True(t, l.Allow("a"), "counts as at 1s")
	source.now = clock.Mark(1500 * time.Millisecond)
	assert.False(t, l.Allow("a"))
}

type settable struct{ now clock.Mark }

func (s *settable) Now() clock.Mark { return s.now }

func TestKeyedLimiterIsSmall(t *testing.T) {
	const keys = 100_000
	l := perKey(t, limiter.Config{Count: 1, Period: time.Hour, Burst: 2}, sluice.WithMaxKeys(keys))
	name := make([]byte, 0, 32)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range keys {
		name = strconv.AppendInt(append(name[:0], "tenant-"...), int64(i), 10)
		require.True(t, l.Allow(string(name)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / keys
	t.Logf("%.1f bytes a key", each)
	assert.LessOrEqual(t, each, 64.0)
	assert.Equal(t, keys, l.Len())
	assert.Zero(t, l.Evictions())
	assert.True(t, l.Allow("one more"))
	assert.EqualValues(t, 1, l.Evictions())
	for i := range keys {
		name = strconv.AppendInt(append(name[:0], "invented-"...), int64(i), 10)
		require.True(t, l.Allow(string(name)))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each = float64(after.HeapAlloc-before.HeapAlloc) / keys
	t.Logf("%.1f bytes a key of a table that evicts", each)
	assert.LessOrEqual(t, each, 64.0)
	runtime.KeepAlive(l)
}

func TestKeyedLimiterAllocatesNothing(t *testing.T) {
	for _, a := range algorithms {
		l := perKey(t, limiter.Config{Algorithm: a, Count: 1000, Period: time.Hour})
		keys := make([]string, 100)
		for i := range keys {
			keys[i] = "key " + strconv.Itoa(i)
			l.Allow(keys[i])
		}
		i := 0
		allocates(t, 0, "Allow", func() { i++; l.Allow(keys[i%100]) })
	}
	l := perKey(t, limiter.Config{Count: 1, Period: time.Hour}, sluice.WithMaxKeys(1))
	l.Allow("a")
	allocates(t, 0, "refused", func() { l.Allow("a") })
	keys := [...]string{"b", "c"}
	i := 0
	allocates(t, 0, "evicting", func() { i++; l.Allow(keys[i%2]) })
}

// TestKeyedLimiterUnderLoad counts what every key had: L1 for each.
func TestKeyedLimiterUnderLoad(t *testing.T) {
	for _, a := range algorithms {
		var source clock.Virtual
		c := limiter.Config{Algorithm: a, Count: 5, Period: 5 * time.Millisecond}
		l := perKey(t, c, sluice.WithClock(&source), sluice.WithMaxKeys(100))
		var had [100]atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(13, uint64(i)))
				for range 5_000 {
					key := rng.IntN(len(had))
					if l.Allow(strconv.Itoa(key)) {
						had[key].Add(1)
					}
					switch rng.IntN(100) {
					case 0:
						source.Advance(time.Millisecond)
					case 1:
						l.Len()
						l.Peek(strconv.Itoa(key), 1)
					}
				}
			})
		}
		all.Wait()
		passed := int64(source.Now()) / int64(time.Millisecond)
		for key := range had {
			// Windows let at most twice the rate pass.
			assert.LessOrEqual(t, had[key].Load(), 2*5+passed*map[bool]int64{true: 1, false: 2}[a == limiter.TokenBucket], "key %d", key)
		}
	}
}
