package apitest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
)

// TestEventsHaveTheContextOfTheCall looks for the caller's context in the events of calls on
// every path, and for none in the events of no call.
func TestEventsHaveTheContextOfTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, err := sluice.Parse("test.yaml", document(
			"timeout: {after: 30s, soft: 1s}", "retry: {attempts: 2, backoff: {constant: 1s}}",
			"breaker: {window: {consecutive: 3}, open: 1m}", "bulkhead: {concurrent: 1, queue: 1, wait: 1s}"))
		require.NoError(t, err)
		p := set.Pipeline("p")
		type name struct{}
		ctx := context.WithValue(t.Context(), name{}, "caller")
		var mu sync.Mutex
		seen := map[decision.Kind]int{}
		p.Listen(func(e sluice.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen[e.Kind]++
			if e.Kind == decision.Change {
				assert.Nil(t, e.Context)
				return
			}
			if assert.NotNil(t, e.Context, e.Kind) {
				assert.Equal(t, "caller", e.Context.Value(name{}), e.Kind)
			}
		})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { _, _ = sluice.Do(ctx, p, takes(2*time.Second)) })
		}
		all.Wait()
		c, err := p.Begin(ctx, sluice.Request{})
		require.NoError(t, err)
		c.Release()
		for range 3 {
			_, _ = sluice.Do(ctx, p, fails)
		}
		for _, kind := range []decision.Kind{decision.Admit, decision.Wait, decision.Reject, decision.Expire, decision.Timeout, decision.Retry, decision.End, decision.Change} {
			assert.NotZero(t, seen[kind], kind)
		}
	})
}

// TestPlacesAndWaitTimes of bulkheads and adaptive limits, while calls hold places and
// after Configure.
func TestPlacesAndWaitTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, err := sluice.Parse("test.yaml", document("bulkhead: {concurrent: 2, queue: 4, wait: 1m}", "adaptive: {initial: 10, maximum: 10}"))
		require.NoError(t, err)
		p := set.Pipeline("p")
		taken := func() [4]uint32 {
			b, a := state(t, p, "bulkhead"), state(t, p, "adaptive")
			return [4]uint32{b.Cell.InUse, b.Cell.Places, a.Cell.InUse, a.Cell.Places}
		}
		assert.Equal(t, [4]uint32{0, 2, 0, 10}, taken())
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { assert.NoError(t, do(p, takes(3*time.Second))) })
		}
		time.Sleep(time.Second)
		assert.Equal(t, [4]uint32{2, 2, 2, 10}, taken())
		require.NoError(t, set.Reload("test.yaml", document("bulkhead: {concurrent: 1, queue: 4, wait: 1m}", "adaptive: {initial: 10, maximum: 10}")))
		assert.Equal(t, [4]uint32{2, 1, 2, 10}, taken())
		all.Wait()
		assert.Error(t, do(p, fails))
		assert.Equal(t, [4]uint32{0, 1, 0, 10}, taken())

		s := state(t, p, "bulkhead")
		bounds := sluice.WaitBounds()
		require.Len(t, s.WaitTimes, len(bounds)+1)
		found := map[time.Duration]uint64{}
		for i, n := range s.WaitTimes {
			if n > 0 {
				found[bounds[i]] = n
			}
		}
		assert.Equal(t, map[time.Duration]uint64{5 * time.Second: 1, 10 * time.Second: 1}, found, "one waited for 3 s, the other for 6 s")
		assert.EqualValues(t, 2, s.Waits)
		assert.Equal(t, 9*time.Second, s.Waited)
	})
}
