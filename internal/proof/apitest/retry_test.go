package apitest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

func retrier(t *testing.T, c retry.Config) *sluice.Retrier {
	t.Helper()
	r, err := sluice.NewRetry(c)
	require.NoError(t, err)
	return r
}

func constant(d time.Duration) backoff.Config {
	return backoff.Config{Kind: backoff.Constant, Base: d}
}

func TestRetryAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := retrier(t, retry.Config{Attempts: 3, Backoff: constant(time.Second)})
		began, runs := time.Now(), 0
		value, err := sluice.Retry(t.Context(), r, func(context.Context) (int, error) {
			if runs++; runs < 3 {
				return 0, errBoom
			}
			return runs, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 3, value)
		assert.Equal(t, 2*time.Second, time.Since(began))

		value, err = sluice.Retry(t.Context(), r, func(context.Context) (int, error) { return 9, errBoom })
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, sluice.RetryError{Step: "retry", Reason: reducer.ReasonAttempts, Attempts: 3, Err: errBoom, Earlier: []error{errBoom, errBoom}}, *gaveUp)
		assert.Equal(t, 9, value)

		_, err = sluice.Retry(t.Context(), r, func(context.Context) (int, error) { return 0, sluice.Ignore(errBoom) })
		require.ErrorIs(t, err, errBoom)
		require.NotErrorAs(t, err, &gaveUp)
		_, err = sluice.NewRetry(retry.Config{Attempts: retry.MaxAttempts + 1})
		require.Error(t, err)
	})
}

func TestRetryHonoursContexts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, delay := range []time.Duration{time.Minute, 2} {
			r := retrier(t, retry.Config{Attempts: 3, Backoff: constant(delay)})
			ctx, cancel := context.WithCancel(t.Context())
			runs := 0
			_, err := sluice.Retry(ctx, r, func(context.Context) (int, error) {
				runs++
				time.AfterFunc(min(delay/2, time.Second), cancel)
				return 0, errBoom
			})
			var gaveUp *sluice.CancelError
			require.ErrorAs(t, err, &gaveUp)
			require.ErrorIs(t, err, errBoom)
			assert.Equal(t, 1, runs)
			_, err = sluice.Retry(ctx, r, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
			assert.Equal(t, context.Canceled, err)
		}
		r := retrier(t, retry.Config{Attempts: 3, Backoff: constant(time.Minute)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := sluice.Retry(ctx, r, fails)
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, reducer.ReasonDeadline, gaveUp.Reason)
		<-ctx.Done()
		_, err = sluice.Retry(ctx, r, fails)
		assert.Equal(t, context.DeadlineExceeded, err)
	})
}

func TestRetryBudgetIsShared(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := retrier(t, retry.Config{Attempts: 2, Backoff: constant(time.Millisecond), Budgeted: true,
			Budget: budget.Config{Ratio: reducer.Percent(10), MinimumCount: 1, MinimumPeriod: 10 * time.Second, Window: 10 * time.Second}})
		reasons := map[reducer.Reason]int{}
		for range 40 {
			var gaveUp *sluice.RetryError
			_, err := sluice.Retry(t.Context(), r, fails)
			require.ErrorAs(t, err, &gaveUp)
			reasons[gaveUp.Reason]++
		}
		assert.Equal(t, map[reducer.Reason]int{reducer.ReasonAttempts: 5, reducer.ReasonBudget: 35}, reasons)
	})
}

// A retry that succeeds costs a bucket of tokens nothing, one that fails does. With the
// rule of gRPC every failure costs a token.
func TestRetryTokens(t *testing.T) {
	const attempts, spent, none = reducer.ReasonAttempts, reducer.ReasonBudget, reducer.NoReason
	for _, c := range []struct {
		budget budget.Config
		errs   []error // of the attempts of calls that follow one another
		want   []reducer.Reason
	}{
		{budget.Config{Rule: sluice.BudgetTokens, Tokens: 10}, []error{errBoom, nil, errBoom, errBoom, errBoom, errBoom, errBoom}, []reducer.Reason{none, attempts, attempts, spent}},
		{budget.Config{Rule: sluice.BudgetTokens, Tokens: 5, Retry: 5}, []error{errBoom, errBoom, nil, nil, errBoom}, []reducer.Reason{attempts, none, none, spent}},
		{budget.Config{Rule: sluice.BudgetThrottle, Tokens: 4, TokenRatio: sluice.Percent(100)},
			[]error{errBoom, errBoom, nil, nil, errBoom, nil, errBoom, errBoom, errBoom}, []reducer.Reason{attempts, none, none, none, attempts, spent}},
	} {
		bubble(t, func(t *testing.T) {
			r := retrier(t, retry.Config{Attempts: 2, Backoff: constant(time.Millisecond), Budgeted: true, Budget: c.budget})
			next := 0
			for _, want := range c.want {
				_, err := sluice.Retry(t.Context(), r, func(context.Context) (int, error) {
					next++
					return 0, c.errs[next-1]
				})
				got := none
				if gaveUp := (*sluice.RetryError)(nil); errors.As(err, &gaveUp) {
					got = gaveUp.Reason
				}
				assert.Equal(t, want, got, "attempt %d", next)
			}
			assert.Len(t, c.errs, next)
		})
	}
}
