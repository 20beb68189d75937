package apitest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

var errDown = errors.New("down")

func down(context.Context) error { return errDown }

func up(context.Context) error { return nil }

func TestKeyedBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, err := sluice.NewKeyedBreaker(breakerConfig(), sluice.WithMaxKeys(3))
		require.NoError(t, err)
		events := sentencesOf(b, sluice.EventReject, sluice.EventChange)
		for range 2 {
			require.ErrorIs(t, b.Do(t.Context(), "a", down), errDown)
		}
		require.EqualError(t, b.Do(t.Context(), "a", up), "sluice: breaker: rejected: open, retry after 1m0s")
		require.NoError(t, b.Do(t.Context(), "b", up))
		assert.Equal(t, []string{"breaker[a]: open: 2 calls in a row failed", "breaker[a]: rejected: open, retry after 1m0s"}, events.take())
		assert.Equal(t, breaker.Open, b.Mode("a"))
		assert.Equal(t, breaker.Closed, b.Mode("c"), "that of a new one")
		assert.False(t, b.Transition("c", breaker.Open), "it has no breaker")
		assert.False(t, b.Reset("c"))
		assert.True(t, b.Reset("a"))
		value, err := sluice.ExecuteKey(t.Context(), b, "a", func(context.Context) (int, error) { return 7, nil })
		require.NoError(t, err)
		assert.Equal(t, 7, value)
		assert.True(t, b.Transition("b", breaker.ForcedOpen))
		require.ErrorIs(t, b.Do(t.Context(), "b", up), sluice.ErrRejected)

		call, err := b.Acquire(t.Context(), "a")
		require.NoError(t, err)
		call.Done(reducer.Fail)
		call.Release()
		state, ok := b.State("a")
		assert.True(t, ok)
		assert.EqualValues(t, 1, state.Counts.Failed)
		kept := b.Snapshot()
		assert.True(t, b.Evict("a"))
		assert.False(t, b.Evict("a"))
		require.NoError(t, b.Restore(kept))
		state, _ = b.State("a")
		assert.EqualValues(t, 1, state.Counts.Failed)

		next := breakerConfig()
		next.Count = 1
		require.NoError(t, b.Configure(next))
		require.ErrorIs(t, b.Do(t.Context(), "a", down), errDown)
		require.ErrorIs(t, b.Do(t.Context(), "a", up), sluice.ErrRejected)
		for _, key := range []string{"d", "e", "f", "g"} {
			require.NoError(t, b.Do(t.Context(), key, up))
		}
		keys := 0
		for range b.Keys() {
			keys++
		}
		assert.Equal(t, 3, keys, "the keys are bounded")
	})
	var zero sluice.KeyedBreaker
	require.Error(t, zero.Do(t.Context(), "a", up))
	_, err := zero.Acquire(t.Context(), "a")
	require.Error(t, err)
	assert.False(t, zero.Reset("a"))
	_, err = sluice.ExecuteKey(t.Context(), nil, "a", func(context.Context) (int, error) { return 7, nil })
	require.Error(t, err)
	_, err = sluice.NewKeyedBreaker(sluice.BreakerConfig{Probes: 1 << 30})
	require.ErrorContains(t, err, "probes")
}

func TestKeyedBulkhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b, err := sluice.NewKeyedBulkhead(places(3, 1))
		require.NoError(t, err)
		one, err := b.AcquireN(t.Context(), "a", 2)
		require.NoError(t, err)
		_, err = b.Acquire(t.Context(), "a")
		require.NoError(t, err)
		require.NoError(t, b.Do(t.Context(), "b", up))
		state, _ := b.State("a")
		assert.Zero(t, state.Free)
		done := make(chan error, 1)
		go func() { done <- b.Do(t.Context(), "a", up) }()
		synctest.Wait()
		require.ErrorIs(t, b.Do(t.Context(), "a", up), sluice.ErrRejected, "the queue is full")
		assert.False(t, b.Evict("a"), "calls hold places")
		one.Release()
		require.NoError(t, <-done)
		require.NoError(t, b.Configure(places(1, 0)))
		_, err = b.AcquireN(t.Context(), "b", 2)
		require.ErrorContains(t, err, "capacity")
		own := places(1, 0)
		own.Cost = limiter.Cost{Permits: 2}
		require.ErrorContains(t, b.Configure(own), "cost: found 2; allowed in a pipeline alone")
		_, err = sluice.NewKeyedBulkhead(own)
		require.Error(t, err)
	})
}

// TestKeyedRetrier: the failures of one key take no retries from another.
func TestKeyedRetrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := sluice.RetryConfig{Attempts: 2, Backoff: constant(time.Millisecond), Budgeted: true, Budget: sluice.BudgetConfig{Rule: sluice.BudgetTokens, Tokens: 10, Retry: 5}}
		r, err := sluice.NewKeyedRetry(c)
		require.NoError(t, err)
		attempts := func(key string) (n int) {
			for range 4 {
				_ = r.Do(t.Context(), key, func(context.Context) error { n++; return errDown })
			}
			return n
		}
		assert.Equal(t, 6, attempts("a"), "two retries of four calls")
		assert.Equal(t, 6, attempts("b"), "a budget of its own")
	})
	_, err := sluice.NewKeyedRetry(sluice.RetryConfig{Attempts: 2, Backoff: constant(time.Millisecond)})
	require.ErrorContains(t, err, "budget: found 0")
	_, err = sluice.NewKeyedRetry(sluice.RetryConfig{Budgeted: true, Budget: sluice.BudgetConfig{Ratio: sluice.Percent(20)}, Refusals: sluice.RefusalsWait})
	require.ErrorContains(t, err, "refusals: found")
	fn := func(context.Context) (int, error) { return 1, nil }
	for _, m := range []sluice.KeyedMechanism{(*sluice.KeyedRetrier)(nil), (*sluice.KeyedBreaker)(nil), (*sluice.KeyedBulkhead)(nil), &sluice.KeyedBreaker{}} {
		_, err = sluice.ExecuteKey(t.Context(), m, "a", fn)
		require.ErrorContains(t, err, "a zero mechanism with keys")
	}
}

// TestShadowAlone: each mechanism takes what it would take, says what it would refuse, and
// lets every call run.
func TestShadowAlone(t *testing.T) {
	const shadow = " (shadow)"
	t.Run("limiter", func(t *testing.T) {
		for _, a := range algorithms {
			bubble(t, func(t *testing.T) {
				turn := time.Second
				if a == limiter.SlidingCounter {
					turn = 2 * time.Second
				}
				l := limited(t, limiter.Config{Algorithm: a, Count: 1, Period: time.Second, Wait: turn, Queue: 5}, sluice.WithShadow())
				events := sentencesOf(l)
				assert.True(t, l.Allow())
				assert.True(t, l.Allow())
				assert.Equal(t, []string{"limit: admitted", "limit: rejected: rate, retry after " + turn.String() + shadow, "limit: admitted"}, events.take())
				require.NoError(t, l.Wait(t.Context()))
				require.NoError(t, l.Wait(t.Context()))
				told := events.take()
				assert.Equal(t, []string{"limit: queued for at most " + turn.String() + shadow, "limit: admitted"}, told[:2], a)
				assert.Contains(t, told[2], "rejected: wait", "the one that waits has the permit of the next second")
				time.Sleep(turn + time.Millisecond)
				synctest.Wait()
				free, _ := l.Peek(1)
				assert.Zero(t, free, "it took the permit at its turn")
				_, err := l.Reserve(1, 0)
				require.NoError(t, err)
				time.Sleep(10 * time.Second)
				assert.True(t, l.Allow())
				free, _ = l.Peek(1)
				assert.Zero(t, free)
			})
		}
	})
	t.Run("keyed limiter", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			l := perKey(t, rate(1, time.Second), sluice.WithShadow())
			for range 2 {
				assert.True(t, l.Allow("a"))
			}
			events := sentencesOf(l)
			assert.True(t, l.Allow("a"))
			require.NoError(t, l.WaitN(t.Context(), "a", 2))
			assert.Equal(t, []string{"limit[a]: rejected: rate, retry after 1s" + shadow, "limit[a]: admitted", "limit[a]: rejected: capacity" + shadow, "limit[a]: admitted"}, events.take())
			began := time.Now()
			require.NoError(t, l.Wait(t.Context(), "a"))
			_, err := l.Reserve("a", 1, 0)
			require.NoError(t, err)
			assert.Zero(t, time.Since(began))
		})
	})
	t.Run("breaker", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := breakerConfig()
			c.SlowOver = time.Second
			c.Window, c.Count, c.Minimum, c.FailureRate, c.SlowRate = breaker.Calls, 2, 2, sluice.Percent(50), sluice.Percent(100)
			for _, c := range []sluice.BreakerConfig{breakerConfig(), c} {
				b := broken(t, c, sluice.WithShadow())
				for range 2 {
					require.ErrorIs(t, b.Do(t.Context(), down), errDown)
				}
				require.Equal(t, breaker.Open, b.Mode())
				before := b.State()
				events := sentencesOf(b, sluice.EventReject, sluice.EventAdmit)
				require.NoError(t, b.Do(t.Context(), up))
				pass, ok := b.TryAcquire()
				assert.True(t, ok)
				pass.Done(reducer.Fail)
				pass, err := b.Acquire()
				require.NoError(t, err)
				pass.Done(reducer.OK)
				assert.Equal(t, []string{"breaker: rejected: open, retry after 1m0s" + shadow, "breaker: admitted"}, events.take()[:2])
				assert.Equal(t, before, b.State(), "what it would have refused does not count")
			}
		})
	})
	t.Run("bulkhead", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			b, err := sluice.NewBulkhead(places(1, 1), sluice.WithShadow())
			require.NoError(t, err)
			events := sentencesOf(b)
			first, err := b.Acquire(t.Context())
			require.NoError(t, err)
			second, err := b.Acquire(t.Context())
			require.NoError(t, err, "it runs while it waits")
			third, err := b.Acquire(t.Context())
			require.NoError(t, err)
			fourth, ok := b.TryAcquire()
			assert.True(t, ok)
			assert.False(t, third.Release() || fourth.Release(), "they have no places")
			assert.Len(t, events.take(), 7, "a wait and two refusals, and four admissions")
			assert.Equal(t, 1, b.State().Waiting)
			assert.True(t, first.Release())
			assert.Zero(t, b.State().Free, "the second has its place now")
			assert.True(t, second.Release())
			assert.False(t, second.Release())
			assert.False(t, second.Renew())
			assert.EqualValues(t, 1, b.State().Free)
			require.NoError(t, b.Do(t.Context(), up))
			first, _ = b.TryAcquire()
			require.NoError(t, b.Do(t.Context(), up))
			assert.Zero(t, b.State().Waiting, "who gave up waits no longer")
			assert.True(t, first.Release())
		})
	})
	t.Run("retrier", func(t *testing.T) {
		r, err := sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: constant(time.Hour)}, sluice.WithShadow())
		require.NoError(t, err)
		events := sentencesOf(r)
		attempts := 0
		require.Equal(t, errDown, r.Do(t.Context(), func(context.Context) error { attempts++; return errDown }))
		assert.Equal(t, 1, attempts)
		assert.Equal(t, []string{"retry: attempt 1 starts", "retry: attempt 1 failed (fail), the next one starts in 1h0m0s: down" + shadow}, events.take())
	})
	t.Run("keyed", func(t *testing.T) {
		b, err := sluice.NewKeyedBreaker(breakerConfig(), sluice.WithShadow())
		require.NoError(t, err)
		for range 2 {
			require.ErrorIs(t, b.Do(t.Context(), "a", down), errDown)
		}
		events := sentencesOf(b, sluice.EventReject)
		require.NoError(t, b.Do(t.Context(), "a", up))
		assert.Len(t, events.take(), 1)
	})
	t.Run("pipeline", func(t *testing.T) {
		_, err := sluice.New(sluice.Policy{Steps: []sluice.Step{{Config: rate(1, time.Second)}}}, sluice.WithShadow())
		require.EqualError(t, err, "sluice: WithShadow has no effect on a Pipeline")
		_, err = sluice.Parse("p", document("timeout: 1s"), sluice.WithShadow())
		require.EqualError(t, err, "sluice: WithShadow has no effect on a Set")
	})
}
