package apitest_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// guardedBy is a policy with a cell of every kind. A call that panics must leave all of them.
var guardedBy = []string{
	"breaker: {name: outer, window: {calls: 10}}",
	"retry: {attempts: 3, backoff: none}",
	"timeout: 1m",
	"breaker: {name: inner, window: {calls: 10}}",
	"limit: 100/1m",
	"bulkhead: {concurrent: 1, wait: 1m}",
	"bulkhead: {name: keyed, concurrent: 1, per: key}",
}

// bothWays runs a test under the policy, and under the policy without keys, whose
// calls use the fast path.
func bothWays(t *testing.T, f func(t *testing.T, policy []string)) {
	for name, policy := range map[string][]string{"keyed": guardedBy, "lane": guardedBy[:6]} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { f(t, policy) })
		})
	}
}

func intact(t *testing.T, p *sluice.Pipeline, failures string) {
	t.Helper()
	assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	assert.Equal(t, "closed failed "+failures, state(t, p, "inner").Text)
	assert.Equal(t, "closed failed "+failures, state(t, p, "outer").Text)
	_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "key"}, ok)
	require.NoError(t, err)
}

func TestPanicReleasesAndGoesOn(t *testing.T) {
	bothWays(t, func(t *testing.T, policy []string) {
		p := guarded(t, policy)
		j := listen(p)
		var waited error
		value := recovered(func() {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "key"}, func(context.Context) (int, error) {
				go func() { waited = do(p, ok) }()
				synctest.Wait()
				panic("boom")
			})
		})
		assert.Equal(t, "boom", value)
		synctest.Wait()
		require.NoError(t, waited, "the waiter was served")
		assert.Contains(t, j.all(), "0s end 1 fail", "and not retried")
		intact(t, p, "1/2")
	})
}

func TestGoexitReleases(t *testing.T) {
	bothWays(t, func(t *testing.T, policy []string) {
		p := guarded(t, policy)
		var ctx context.Context
		go func() {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "key"}, func(own context.Context) (int, error) {
				ctx = own
				runtime.Goexit()
				return 0, nil
			})
		}()
		synctest.Wait()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		intact(t, p, "1/1")
	})
}

func TestPanicOfOneMechanismAlone(t *testing.T) {
	b, err := sluice.NewBreaker(breakerConfig())
	require.NoError(t, err)
	crash := func(context.Context) error { panic("boom") }
	assert.Equal(t, "boom", recovered(func() { _ = b.Do(t.Context(), crash) }))
	assert.Equal(t, "boom", recovered(func() { _ = b.Do(t.Context(), crash) }))
	require.ErrorIs(t, b.Do(t.Context(), func(context.Context) error { return nil }), sluice.ErrRejected)

	places, err := sluice.NewBulkhead(places(1, 0))
	require.NoError(t, err)
	assert.Equal(t, "boom", recovered(func() { _ = places.Do(t.Context(), crash) }))
	_, free := places.TryAcquire()
	assert.True(t, free)
}

// TestPanicsElsewhere has functions of the caller other than fn panic.
func TestPanicsElsewhere(t *testing.T) {
	bothWays(t, func(t *testing.T, policy []string) {
		p := guarded(t, policy, sluice.WithClassify(func(error) reducer.Outcome { panic("classify") }))
		assert.Equal(t, "classify", recovered(func() { _, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "key"}, fails) }))
		intact(t, p, "1/1")

		p = guarded(t, append(slices.Clone(policy), "bulkhead: {name: by-ip, concurrent: 1, per: ip}"))
		request := sluice.Request{Key: "key", Lookup: func(string) string { panic("lookup") }}
		assert.Equal(t, "lookup", recovered(func() { _, _ = sluice.DoWith(t.Context(), p, request, ok) }))
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)

		for _, kind := range []decision.Kind{decision.Admit, decision.End} {
			p = guarded(t, policy, quiet())
			p.Listen(func(e sluice.Event) {
				if e.Kind == kind {
					panic("listener")
				}
			})
			for range 2 {
				_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "key"}, ok)
				require.NoError(t, err)
				assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
			}
		}
	})
}

func TestCancelledWhileHoldingByKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 1h, per: key}", "limit: {rate: 1/1h, burst: 1, wait: 2h, per: key}"}, sluice.WithMaxKeys(1))
		call := func(ctx context.Context, key string) error {
			_, err := sluice.DoWith(ctx, p, sluice.Request{Key: key}, ok)
			return err
		}
		require.NoError(t, call(t.Context(), "a"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, call(ctx, "a"), context.Canceled)
		// No call holds the cell of a: once the cell is full again, b evicts it.
		time.Sleep(2 * time.Hour)
		require.NoError(t, call(t.Context(), "b"))
		time.Sleep(2 * time.Hour)
		require.NoError(t, call(t.Context(), "c"))
		assert.Equal(t, 1, state(t, p, "limit").Keys)
		assert.Equal(t, 1, state(t, p, "bulkhead").Keys)
	})
}
