package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// TestHedger hedges a function whose first attempt takes a minute.
func TestHedger(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, err := sluice.NewHedge(sluice.HedgeConfig{After: time.Second})
		require.NoError(t, err)
		var heard []string
		defer h.Listen(func(e sluice.Event) { heard = append(heard, e.Step+" "+e.Kind.String()) }, sluice.EventHedge)()
		slow := func(ctx context.Context) (uint32, error) {
			number, hedge, ok := sluice.AttemptOf(ctx)
			assert.True(t, ok)
			if !hedge {
				select {
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				case <-time.After(time.Minute):
				}
			}
			return number, nil
		}
		for name, run := range map[string]func() (uint32, error){
			"Hedge": func() (uint32, error) { return sluice.Hedge(t.Context(), h, slow) },
			"Wrap":  func() (uint32, error) { return sluice.Wrap(h, slow)(t.Context()) },
			"Do": func() (number uint32, err error) {
				return 2, h.Do(t.Context(), func(ctx context.Context) error { _, err := slow(ctx); return err })
			},
			"WrapRun": func() (number uint32, err error) {
				return 2, sluice.WrapRun(h, func(ctx context.Context) error { _, err := slow(ctx); return err })(t.Context())
			},
		} {
			began := time.Now()
			number, err := run()
			require.NoError(t, err, name)
			assert.EqualValues(t, 2, number, name)
			assert.Equal(t, time.Second, time.Since(began), name)
		}
		assert.Equal(t, []string{"hedge hedge", "hedge hedge", "hedge hedge", "hedge hedge"}, heard)

		require.NoError(t, h.Configure(sluice.HedgeConfig{After: 2 * time.Second}))
		began := time.Now()
		require.NoError(t, h.Do(t.Context(), func(ctx context.Context) error { _, err := slow(ctx); return err }))
		assert.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestHedgerErrors(t *testing.T) {
	_, err := sluice.NewHedge(sluice.HedgeConfig{After: -1})
	require.EqualError(t, err, "after: found -1ns; allowed more than 0, a percentile, or parallel")
	_, err = sluice.NewHedge(sluice.HedgeConfig{After: time.Second}, sluice.WithMaxKeys(1))
	require.EqualError(t, err, "sluice: WithMaxKeys has no effect on a Hedger")
	h := sluice.Must(sluice.NewHedge(sluice.HedgeConfig{After: time.Second}))
	require.ErrorContains(t, h.Configure(sluice.HedgeConfig{}), "after: found 0s")
	require.ErrorIs(t, h.Do(t.Context(), func(context.Context) error { return errBoom }), errBoom)
	for _, zero := range []*sluice.Hedger{nil, {}} {
		_, err = sluice.Hedge(t.Context(), zero, ok)
		require.EqualError(t, err, "sluice: a zero Hedger; NewHedge makes one")
		require.Equal(t, err, zero.Do(t.Context(), good))
		require.Equal(t, err, zero.Configure(sluice.HedgeConfig{After: time.Second}))
		_, wrapped := sluice.Wrap(zero, ok)(t.Context())
		require.Equal(t, err, wrapped)
		zero.Listen(func(sluice.Event) {})()
	}
}

// TestExecuteRetries runs a Retrier as a Mechanism, and mechanisms in mechanisms.
func TestExecuteRetries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := sluice.Must(sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: sluice.Constant(time.Second)}))
		b := sluice.Must(sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 2, Open: sluice.Constant(5 * time.Second)}))
		calls := 0
		fails := func(context.Context) (int, error) {
			calls++
			return calls, errBoom
		}
		var mechanism sluice.Mechanism = r
		_, err := sluice.Execute(t.Context(), mechanism, fails)
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, 3, calls)

		// The third attempt waits until the breaker admits a probe.
		began, inner := time.Now(), sluice.Wrap(b, fails)
		_, err = sluice.Execute(t.Context(), mechanism, inner)
		require.Error(t, err)
		assert.Equal(t, 5, calls)
		assert.GreaterOrEqual(t, time.Since(began), time.Second)
		_, err = sluice.Execute(t.Context(), (*sluice.Retrier)(nil), ok)
		require.ErrorContains(t, err, "a zero Retrier")
	})
}
