package apitest_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

func walled(t testing.TB, c bulkhead.Config) *sluice.Bulkhead {
	t.Helper()
	b, err := sluice.NewBulkhead(c)
	require.NoError(t, err)
	return b
}

func TestBulkheadAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := walled(t, places(2, 1))
		first, got := b.TryAcquire()
		require.True(t, got)
		second, err := b.Acquire(t.Context())
		require.NoError(t, err)
		_, got = b.TryAcquire()
		assert.False(t, got)

		third := make(chan sluice.Place)
		go func() {
			place, err := b.Acquire(t.Context())
			assert.NoError(t, err)
			third <- place
		}()
		synctest.Wait()
		_, err = b.Acquire(t.Context())
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, sluice.RejectedError{Step: "bulkhead", Reason: reducer.ReasonFull, RetryAfter: -1}, *rejected)

		assert.True(t, first.Release())
		assert.False(t, first.Release(), "once")
		place := <-third
		_, got = b.TryAcquire()
		assert.False(t, got, "the waiter has the place")
		assert.True(t, place.Release())
		assert.True(t, second.Release())
		assert.False(t, sluice.Place{}.Release())
		assert.False(t, sluice.Place{}.Renew())
		assert.True(t, func() bool { p, got := b.TryAcquire(); return got && p.Renew() && p.Release() && !p.Renew() }())
		_, err = sluice.NewBulkhead(bulkhead.Config{})
		require.Error(t, err)
		require.Error(t, b.Configure(bulkhead.Config{}))
	})
}

func TestBulkheadWaitHonoursContexts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := walled(t, bulkhead.Config{Concurrent: 1, Queue: 5, Wait: 3 * time.Second})
		place, _ := b.TryAcquire()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := b.Acquire(ctx)
		assert.Equal(t, context.DeadlineExceeded, err)
		assert.Equal(t, time.Second, time.Since(began))
		_, err = b.Acquire(ctx)
		assert.Equal(t, context.DeadlineExceeded, err)
		_, err = b.Acquire(t.Context())
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, reducer.ReasonWait, rejected.Reason)
		assert.True(t, rejected.Waited)
		assert.Equal(t, 4*time.Second, time.Since(began))
		assert.True(t, place.Release())
		require.NoError(t, b.Do(t.Context(), func(context.Context) error {
			_, got := b.TryAcquire()
			assert.False(t, got)
			return nil
		}))
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		_, got := b.TryAcquire()
		assert.True(t, got)
	})
}

// Callers take as many places as they say, in the order of arrival: one that needs many is
// not overtaken by one that needs few.
func TestBulkheadTakesManyPlaces(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := walled(t, places(4, 5))
		first, got := b.TryAcquireN(3)
		require.True(t, got)
		_, got = b.TryAcquireN(2)
		assert.False(t, got)
		_, err := b.AcquireN(t.Context(), 5)
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, reducer.ReasonCapacity, rejected.Reason)
		_, got = b.TryAcquireN(5)
		assert.False(t, got)

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		acquire := func(ctx context.Context, n uint32) chan sluice.Place {
			served := make(chan sluice.Place, 1)
			go func() {
				if place, err := b.AcquireN(ctx, n); err == nil {
					served <- place
				}
			}()
			synctest.Wait()
			return served
		}
		left, heavy, light := acquire(ctx, 2), acquire(t.Context(), 4), acquire(t.Context(), 1)
		_, got = b.TryAcquire()
		assert.False(t, got, "callers wait for the free place")
		cancel()
		synctest.Wait()
		assert.True(t, first.Release())
		place := <-heavy
		synctest.Wait()
		assert.Empty(t, light, "all places are taken")
		assert.Empty(t, left)
		assert.True(t, place.Release())
		<-light
		all, got := b.TryAcquireN(3)
		assert.True(t, got)
		assert.True(t, all.Release())
		_, got = b.TryAcquireN(0)
		assert.True(t, got, "0 counts as 1")
		_, got = b.TryAcquireN(3)
		assert.False(t, got)

		_, err = sluice.NewBulkhead(bulkhead.Config{Concurrent: 4, Cost: limiter.Cost{Permits: 2}})
		require.ErrorContains(t, err, "AcquireN")
		require.ErrorContains(t, b.Configure(bulkhead.Config{Concurrent: 4, Cost: limiter.Cost{Attribute: "header:n"}}), "cost")
	})
}

// A waiter that leaves the head of the queue lets those pass whose places are free.
func TestBulkheadHeadLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := walled(t, places(3, 5))
		_, got := b.TryAcquireN(2)
		require.True(t, got)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		go func() { _, _ = b.AcquireN(ctx, 2) }()
		synctest.Wait()
		place, err := b.Acquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))
		assert.True(t, place.Release())
	})
}

// At a bulkhead without a cost a call of any cost takes one place; with one it takes as
// many as it says. What a limit in front has taken comes back whole.
func TestBulkheadCostInPipeline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, cost := range []limiter.Cost{{}, {Permits: 2}, {Attribute: "header:n"}} {
			p, err := sluice.New(sluice.Policy{Steps: []sluice.Step{
				{Config: limiter.Config{Count: 20, Period: time.Hour}},
				{Config: bulkhead.Config{Concurrent: 3, Cost: cost}},
			}})
			require.NoError(t, err)
			admitted := 0
			hold := make(chan struct{})
			for range 4 {
				go func() {
					q := sluice.Request{Cost: 5, Lookup: func(string) string { return "1" }}
					_, _ = sluice.DoWith(t.Context(), p, q, func(context.Context) (int, error) {
						admitted++
						<-hold
						return 0, nil
					})
				}()
				synctest.Wait()
			}
			want := map[limiter.Cost]int{{}: 3, {Permits: 2}: 1, {Attribute: "header:n"}: 3}
			assert.Equal(t, want[cost], admitted)
			state, err := p.Step("limit").State()
			require.NoError(t, err)
			assert.Equal(t, uint32(20-5*admitted), state.Free)
			close(hold)
			synctest.Wait()
		}
	})
}

func TestLeases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := walled(t, bulkhead.Config{Concurrent: 1, Queue: 5, Lease: 10 * time.Second})
		place, _ := b.TryAcquire()
		time.Sleep(9 * time.Second)
		assert.True(t, place.Renew())
		time.Sleep(9 * time.Second)
		began := time.Now()
		next, err := b.Acquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began), "the lease ran out")
		assert.False(t, place.Renew())
		assert.False(t, place.Release())
		time.Sleep(10 * time.Second)
		assert.False(t, next.Release(), "a lease also ends without waiters")
		last, got := b.TryAcquire()
		require.True(t, got)
		require.NoError(t, b.Configure(bulkhead.Config{Concurrent: 1, Queue: 5}))
		time.Sleep(time.Hour)
		assert.False(t, last.Renew(), "given under a lease")
	})
}

// TestRenewOfSeveralLeases renews the lease that a call still has, after another one has
// run out.
func TestRenewOfSeveralLeases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, lease: 3s}", "bulkhead: {concurrent: 1, lease: 17s, name: inner}"})
		require.NoError(t, do(p, func(ctx context.Context) (int, error) {
			time.Sleep(14 * time.Second)
			assert.False(t, sluice.Renew(ctx), "one of them has run out")
			time.Sleep(16 * time.Second)
			assert.ErrorContains(t, do(p, ok), "inner")
			return 0, nil
		}))
	})
}

func TestBulkheadUnderLoad(t *testing.T) {
	b := walled(t, places(3, 5))
	var inside, most, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for n := range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+n)%5 == 0 {
					time.AfterFunc(0, cancel)
				}
				err := b.Do(ctx, func(context.Context) error {
					now := inside.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					inside.Add(-1)
					return nil
				})
				if err != nil {
					refused.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, most.Load(), int64(3))
	for range 3 {
		_, got := b.TryAcquire()
		assert.True(t, got, "no place is lost")
	}
}
