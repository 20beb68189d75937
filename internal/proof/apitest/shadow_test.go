package apitest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
)

func TestShadowStepsEnforceNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"timeout: {after: 1s, shadow: true}",
			"retry: {attempts: 3, backoff: none, shadow: true}",
			"breaker: {window: {consecutive: 1}, open: 1m, shadow: true}",
			"limit: {rate: 1/1m, burst: 1, shadow: true}",
			"bulkhead: {concurrent: 1, shadow: true}",
		})
		j := listen(p)
		require.Equal(t, errBoom, do(p, stubborn2(2*time.Second)), "neither cut nor retried")
		assert.Equal(t, []string{"0s admit 1", "1s timeout 1 timeout shadow", "2s breaker open", "2s retry 1 fail until 2s shadow", "2s end 1 fail"}, j.take())
		require.NoError(t, do(p, ok))
		assert.Equal(t, []string{"2s reject breaker open after 1m0s shadow", "2s reject limit rate after 58s shadow", "2s admit 1", "2s end 1 ok"}, j.take())
		go func() { _ = do(p, takes(time.Second)) }()
		synctest.Wait()
		require.NoError(t, do(p, ok))
		assert.Contains(t, j.take(), "2s reject bulkhead full shadow")
		time.Sleep(time.Minute)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

// TestPhantoms has a phantom of a running call in the queue of a shadow step.
func TestPhantoms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 10s, shadow: true}", "retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "timeout: 1h"})
		j := listen(p)
		go func() { _ = do(p, takes(5*time.Second)) }()
		synctest.Wait()
		runs := 0
		require.NoError(t, do(p, func(context.Context) (int, error) {
			if runs++; runs == 1 {
				assert.Equal(t, 1, state(t, p, "bulkhead").Waiting)
				time.Sleep(2 * time.Second)
				return 0, errBoom
			}
			assert.Equal(t, 1, state(t, p, "bulkhead").Waiting, "it waits on while the call is tried again")
			time.Sleep(10 * time.Second)
			assert.Equal(t, "held 1/1", state(t, p, "bulkhead").Text, "the phantom had its turn")
			return 0, nil
		}))
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		assert.Contains(t, j.take(), "0s wait 1 bulkhead shadow")

		go func() { _ = do(p, takes(time.Hour)) }()
		synctest.Wait()
		require.NoError(t, do(p, stubborn(time.Minute)))
		assert.Contains(t, fmt.Sprint(j.take()), "expire bulkhead wait shadow")
		assert.Zero(t, state(t, p, "bulkhead").Waiting)
		time.Sleep(2 * time.Hour)
	})
}

// TestTimeoutBehindAPhantom has a timeout come after the end of a phantom's wait.
func TestTimeoutBehindAPhantom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1h, burst: 1, wait: 1h, shadow: true}", "bulkhead: {concurrent: 1, wait: 1s, shadow: true}", "timeout: 2s"})
		go func() { _ = do(p, stubborn(time.Minute)) }()
		synctest.Wait()
		require.ErrorIs(t, do(p, stubborn2(5*time.Second)), context.DeadlineExceeded)
		time.Sleep(time.Hour)
	})
}

// TestShadowDecidesIdentically compares a pipeline with one in which the same
// step only watches, for calls that are never refused: M7.
func TestShadowDecidesIdentically(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const limit = "limit: {rate: 3/1s, burst: 3%s}"
		real, shadow := guarded(t, []string{fmt.Sprintf(limit, "")}), guarded(t, []string{fmt.Sprintf(limit, ", shadow: true")})
		refused := 0
		shadow.Listen(func(e sluice.Event) {
			if e.Kind == decision.Reject {
				refused++
			}
		})
		for i := range 100 {
			before := refused
			require.NoError(t, do(shadow, ok))
			assert.Equal(t, refused > before, do(real, ok) != nil, i)
			time.Sleep(time.Duration(i%7) * 100 * time.Millisecond)
		}
		require.NotZero(t, refused)
	})
}

func TestShadowMayBeLifted(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 1/1h, shadow: true}"})
	require.NoError(t, do(p, ok))
	require.NoError(t, do(p, ok))
	steps := stepsOf(p)
	steps[0].Shadow = false
	require.NoError(t, p.Configure(pipeline.Policy{Name: "p", Steps: steps}))
	require.ErrorIs(t, do(p, ok), sluice.ErrRejected, "permits that were taken in shadow are used")
}
