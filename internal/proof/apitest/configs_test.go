package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
)

// breakerConfig opens at two failures in a row, for a minute.
func breakerConfig() breaker.Config {
	return breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}}
}

func places(n, queue uint32) bulkhead.Config { return bulkhead.Config{Concurrent: n, Queue: queue} }

func rate(count uint32, period time.Duration) limiter.Config {
	return limiter.Config{Count: count, Period: period}
}

// TestConfigsHaveDefaults checks that configurations with zero fields mean the same as
// a document without these settings.
func TestConfigsHaveDefaults(t *testing.T) {
	_, err := sluice.NewBreaker(sluice.BreakerConfig{})
	require.NoError(t, err)
	b, err := sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowCalls, Count: 4, FailureRate: sluice.Percent(50)})
	require.NoError(t, err)
	for range 4 {
		assert.Equal(t, breaker.Closed, b.Mode())
		_ = b.Do(t.Context(), func(context.Context) error { return errBoom })
	}
	assert.Equal(t, breaker.Open, b.Mode(), "after 4 outcomes, the lesser of 100 and the window")
	require.NoError(t, b.Configure(sluice.BreakerConfig{}))
	_, err = sluice.NewRetry(sluice.RetryConfig{})
	require.NoError(t, err)
	k, err := sluice.NewBulkhead(sluice.BulkheadConfig{Concurrent: 1, Wait: time.Second})
	require.NoError(t, err, "the queue is 100")
	require.NoError(t, k.Configure(sluice.BulkheadConfig{Concurrent: 2, Wait: time.Second}))
	l, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Second, Wait: time.Second})
	require.NoError(t, err)
	require.NoError(t, l.Configure(sluice.LimiterConfig{Count: 2, Period: time.Second, Wait: time.Second}))
	_, err = sluice.New(sluice.Policy{Name: "p", Steps: []sluice.Step{
		{Config: sluice.BreakerConfig{}}, {Config: sluice.RetryConfig{}}, {Config: sluice.AdaptiveConfig{}},
		{Config: sluice.HedgeConfig{Percentile: sluice.Percent(95)}},
	}})
	require.NoError(t, err)
}
