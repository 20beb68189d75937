package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/testenv"
)

// TestKeyedLimiterIsTheLimiter asks, reserves, cancels and configures at random at a limiter and
// at a key of a keyed one: both answer the same.
func TestKeyedLimiterIsTheLimiter(t *testing.T) {
	type both struct{ alone, keyed sluice.Reservation }
	for c := range testenv.Draws(t, 300) {
		rng := rand.New(rand.NewPCG(c.Seed, uint64(c.Case)))
		var source clock.Virtual
		a := algorithms[rng.IntN(len(algorithms))]
		config := func() limiter.Config {
			c := limiter.Config{Algorithm: a, Count: 1 + rng.Uint32N(3), Period: time.Duration(1+rng.IntN(3)) * time.Second}
			if a == limiter.TokenBucket {
				c.Burst = 1 + rng.Uint32N(4)
			}
			return c
		}
		first := config()
		l, k := limited(t, first, sluice.WithClock(&source)), perKey(t, first, sluice.WithClock(&source))
		require.True(t, l.Allow())
		require.True(t, k.Allow("a"))
		var open []both
		for step := range 200 {
			n, where := 1+rng.Uint32N(2), fmt.Sprintf("seed %d, case %d, step %d", c.Seed, c.Case, step)
			switch rng.IntN(6) {
			case 0:
				wait := time.Duration(rng.IntN(4)) * time.Second
				a, one := l.Reserve(n, wait)
				b, other := k.Reserve("a", n, wait)
				require.Equal(t, fmt.Sprint(one), fmt.Sprint(other), where)
				require.Equal(t, a.Delay(), b.Delay(), where)
				open = append(open, both{a, b})
			case 1:
				if len(open) > 0 {
					i := rng.IntN(len(open))
					open[i].alone.Cancel()
					open[i].keyed.Cancel()
				}
			case 2:
				source.Advance(time.Duration(rng.Int64N(int64(2 * time.Second))))
			case 3:
				if _, after := l.Peek(l.State().Free + 1); after != 0 && rng.IntN(4) == 0 {
					next := config()
					require.NoError(t, l.Configure(next))
					require.NoError(t, k.Configure(next))
				}
			default:
				require.Equal(t, l.AllowN(n), k.AllowN("a", n), where)
			}
			free, after := l.Peek(n)
			freeOf, afterOf := k.Peek("a", n)
			if k.Len() > 0 { // else the key may be forgotten, and has all permits
				require.Equal(t, [2]any{free, after}, [2]any{freeOf, afterOf}, where)
			}
		}
	}
}

func TestKeyedWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := perKey(t, limiter.Config{Count: 1, Period: time.Second, Wait: 3 * time.Second})
		events := sentencesOf(l)
		began := time.Now()
		require.NoError(t, l.Wait(t.Context(), "a"))
		require.NoError(t, l.Wait(t.Context(), "a"))
		assert.Equal(t, time.Second, time.Since(began), "the second permit comes after a second")
		require.NoError(t, l.Wait(t.Context(), "b"))
		assert.Equal(t, time.Second, time.Since(began), "another key has permits of its own")
		assert.Equal(t, []string{"limit[a]: admitted", "limit[a]: queued for at most 3s", "limit[a]: granted after waiting 1s", "limit[a]: admitted", "limit[b]: admitted"}, events.take())

		// In the order of their calls; the fourth would wait for longer than 3 s.
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				if l.Wait(t.Context(), "a") == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		var refused *sluice.RejectedError
		require.ErrorAs(t, l.Wait(t.Context(), "a"), &refused)
		assert.Equal(t, "sluice: limit: rejected: wait, retry after 1s", refused.Error())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.Equal(t, [3]int{0, 1, 2}, [3]int{<-order, <-order, <-order})

		// Who gives up returns the permit, and the next one has its turn.
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		done := make(chan error, 1)
		go func() { done <- l.Wait(ctx, "a") }()
		synctest.Wait()
		cancel(left)
		require.ErrorIs(t, <-done, left)
		began = time.Now()
		require.NoError(t, l.Wait(t.Context(), "a"))
		assert.Equal(t, time.Second, time.Since(began))

		// A turn at the deadline is too late.
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.ErrorAs(t, l.Wait(ctx, "a"), &refused)
		assert.Equal(t, "sluice: limit: rejected: deadline, retry after 1ns", refused.Error())
		ctx, stop = context.WithTimeout(t.Context(), time.Second+1)
		defer stop()
		require.NoError(t, l.Wait(ctx, "a"))
		require.ErrorAs(t, l.WaitN(t.Context(), "a", 2), &refused)
		assert.Equal(t, sluice.ReasonCapacity, refused.Reason)
		require.ErrorIs(t, l.Wait(gone(t), "a"), context.Canceled)
	})
}

// TestKeyedWaitAtWindows: what cannot be reserved is asked for again when it is to be free.
func TestKeyedWaitAtWindows(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingCounter, limiter.SlidingLog} {
			l := perKey(t, limiter.Config{Algorithm: a, Count: 1, Period: time.Second})
			began := time.Now()
			var left atomic.Int32
			for range 3 {
				go func() {
					assert.NoError(t, l.Wait(t.Context(), "a"))
					left.Add(1)
				}()
			}
			time.Sleep(10 * time.Second)
			synctest.Wait()
			assert.EqualValues(t, 3, left.Load(), a)
			assert.GreaterOrEqual(t, time.Since(began), 2*time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			require.True(t, l.Allow("a"))
			go cancel()
			require.ErrorIs(t, l.Wait(ctx, "a"), context.Canceled)
		}
	})
}

func TestKeyedLimiterReset(t *testing.T) {
	minute := backoff.Config{Kind: backoff.Constant, Base: time.Minute}
	for _, c := range []limiter.Config{rate(2, time.Hour), {Count: 2, Period: time.Hour, Block: limiter.Block{After: 1, For: minute}}, {Algorithm: limiter.SlidingLog, Count: 2, Period: time.Hour}} {
		var source clock.Virtual
		l := perKey(t, c, sluice.WithClock(&source))
		assert.False(t, l.Reset("a"), "the limiter does not know the key")
		assert.True(t, l.AllowN("a", 2))
		later, err := l.Reserve("a", 1, 2*time.Hour)
		assert.Equal(t, c.Algorithm == limiter.TokenBucket, err == nil)
		assert.False(t, l.Allow("a"))
		events := sentencesOf(l)
		assert.True(t, l.Reset("a"))
		assert.Equal(t, []string{"limit[a]: by hand: reset"}, events.take())
		later.Cancel()
		free, _ := l.Peek("a", 1)
		assert.EqualValues(t, 2, free, "a permit from before the reset does not come back")
		assert.True(t, l.AllowN("a", 2))
		assert.False(t, l.Allow("a"))
	}
	var zero sluice.KeyedLimiter
	assert.False(t, zero.Reset("a"))
	require.EqualError(t, zero.Configure(rate(1, time.Second)), "sluice: a zero mechanism with keys; NewKeyedLimiter, NewKeyedBreaker, NewKeyedBulkhead and NewKeyedRetry make one")
	require.Error(t, zero.Wait(t.Context(), "a"))
	_, err := zero.Reserve("a", 1, 0)
	require.Error(t, err)
	require.ErrorContains(t, perKey(t, rate(1, time.Second)).Configure(limiter.Config{Count: 1, Period: time.Second, Queue: 1}), "queue: found 1; allowed 0")
	var none sluice.KeyedLimiterOf[int]
	assert.False(t, none.Reset(1))
	require.Error(t, none.Configure(rate(1, time.Second)))
	require.Error(t, none.Wait(t.Context(), 1))
	_, err = none.Reserve(1, 1, 0)
	require.Error(t, err)
}

// TestKeyedLimiterOfWaits is the same for keys of a type.
func TestKeyedLimiterOfWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, err := sluice.NewKeyedLimiterOf[int](rate(1, time.Second))
		require.NoError(t, err)
		events := sentencesOf(l)
		began := time.Now()
		require.NoError(t, l.Wait(t.Context(), 7))
		require.NoError(t, l.WaitN(t.Context(), 7, 1))
		assert.Equal(t, time.Second, time.Since(began))
		r, err := l.Reserve(7, 1, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, time.Second, r.Delay())
		r.Cancel()
		assert.True(t, l.Reset(7))
		assert.True(t, l.Allow(7))
		require.NoError(t, l.Configure(rate(2, time.Second)))
		assert.Contains(t, events.take(), "limit[7]: by hand: reset")
	})
}

// gone returns a context that is over.
func gone(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
