package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/condition"
)

// numbers are no shares and no factors.
var noNumbers = []float64{-1, -1e-9, 0.00001, 400_001, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{0: "0%", 0.0001: "0.0001%", 0.1: "0.1%", 33.3333: "33.3333%", 99.99: "99.99%", 100: "100%", 50: "50%", 99.99999: "100%", 400_000: "400000%"} {
		assert.Equal(t, want, sluice.Percent(p).String())
	}
	for _, p := range noNumbers {
		_, err := sluice.NewBreaker(sluice.BreakerConfig{FailureRate: sluice.Percent(p)})
		require.ErrorContains(t, err, "failure_rate: found a number that is neither", p)
	}
}

func TestFactor(t *testing.T) {
	fixed := sluice.Exponential(time.Second, time.Minute)
	for f, want := range map[float64]string{1: "1", 1.5: "1.5", 2: "2", 1000: "1000"} {
		fixed.Factor = sluice.FactorOf(f)
		assert.Equal(t, want, fixed.Factor.String())
		_, err := sluice.NewRetry(sluice.RetryConfig{Backoff: fixed})
		require.NoError(t, err)
	}
	for _, f := range append(noNumbers, 0, 0.5, 1001) {
		fixed.Factor = sluice.FactorOf(f)
		_, err := sluice.NewRetry(sluice.RetryConfig{Backoff: fixed})
		require.ErrorContains(t, err, "backoff.factor: found ", f)
	}
	fixed.Factor = 2
	_, err := sluice.NewRetry(sluice.RetryConfig{Backoff: fixed})
	require.EqualError(t, err, "backoff.factor: found 2; allowed 1000000 to 1000000000 millionths, so that 2000000 doubles the delay")
}

// TestNoShares puts a number that is no share into every share of every configuration, one
// that has an effect as it stands: no constructor takes it for another one.
func TestNoShares(t *testing.T) {
	fine := sluice.Percent(10)
	jitters := sluice.BackoffConfig{Kind: sluice.BackoffConstant, Base: time.Second, Jitter: sluice.JitterFraction, Share: fine}
	found := map[string]bool{}
	for _, c := range []sluice.Config{
		sluice.BreakerConfig{FailureRate: fine, SlowRate: fine, SlowOver: time.Second, RampOver: time.Minute, RampFrom: fine, Open: jitters},
		sluice.RetryConfig{Backoff: jitters, Budgeted: true, Budget: sluice.BudgetConfig{Ratio: fine}},
		sluice.RetryConfig{Budgeted: true, Budget: sluice.BudgetConfig{Rule: sluice.BudgetThrottle, Tokens: 10, TokenRatio: fine}},
		sluice.RetryConfig{Budgeted: true, Budget: sluice.BudgetConfig{Rule: sluice.BudgetAdaptive, OneAbove: sluice.Percent(50), TwoAbove: fine}},
		sluice.HedgeConfig{Percentile: fine},
		sluice.AdaptiveConfig{Decrease: fine, Tolerance: fine, OverShare: sluice.Percent(60)},
		sluice.ChaosConfig{Fail: fine, Throttle: fine, Ignore: fine, Slow: fine, By: time.Second},
		sluice.LimiterConfig{Algorithm: sluice.FixedWindow, Count: 1, Period: time.Second, Spread: fine},
	} {
		_, err := sluice.New(sluice.PolicyOf("p", c))
		require.NoError(t, err, "%+v", c)
		changed := reflect.New(reflect.TypeOf(c)).Elem()
		changed.Set(reflect.ValueOf(c))
		eachShare(changed, fmt.Sprintf("%T", c), func(where string, share reflect.Value) {
			before := share.Interface().(sluice.Share)
			if !before.Positive() {
				return
			}
			found[where] = true
			share.Set(reflect.ValueOf(sluice.Percent(-1)))
			_, err := sluice.New(sluice.PolicyOf("p", changed.Interface().(sluice.Config)))
			assert.ErrorContains(t, err, "found a number that is neither 0%", where)
			share.Set(reflect.ValueOf(before))
		})
	}
	for _, c := range []sluice.Config{sluice.BreakerConfig{}, sluice.RetryConfig{}, sluice.HedgeConfig{}, sluice.AdaptiveConfig{}, sluice.ChaosConfig{}, sluice.LimiterConfig{}, sluice.BulkheadConfig{}, sluice.TimeoutConfig{}} {
		eachShare(reflect.ValueOf(c), fmt.Sprintf("%T", c), func(where string, _ reflect.Value) {
			if where != "hedge.Config.Budget.Ratio" && !strings.HasPrefix(where, "hedge.Config.Budget.") && where != "limiter.Config.Block.For.Share" {
				assert.True(t, found[where], "no value for %s", where)
			}
		})
	}
	p := sluice.PolicyOf("p", sluice.BreakerConfig{})
	p.Steps[0].Enforce = condition.Share{Of: sluice.Percent(1e300)}
	_, err := sluice.New(p)
	require.ErrorContains(t, err, "enforce: found a number that is neither 0%")
}

// eachShare calls f with the shares of a configuration.
func eachShare(v reflect.Value, where string, f func(string, reflect.Value)) {
	for i := range v.NumField() {
		name := where + "." + v.Type().Field(i).Name
		switch field := v.Field(i); {
		case field.Type() == reflect.TypeFor[sluice.Share]():
			f(name, field)
		case field.Kind() == reflect.Struct && v.Type().Field(i).IsExported():
			eachShare(field, name, f)
		}
	}
}

// TestOutcomesOf refuses sets that name no outcome: the zero value would be all of them.
func TestOutcomesOf(t *testing.T) {
	counts := func(outcomes ...sluice.Outcome) error {
		_, err := sluice.New(sluice.PolicyOf("p", sluice.LimiterConfig{Count: 1, Period: time.Second, Counts: sluice.OutcomesOf(outcomes...)}))
		return err
	}
	require.NoError(t, counts(sluice.OutcomeFail, sluice.OutcomeTimeout))
	require.NoError(t, counts(sluice.OutcomeOK, sluice.OutcomeFail, sluice.OutcomeThrottle, sluice.OutcomeIgnore, sluice.OutcomeTimeout, sluice.OutcomeCancelled))
	for _, outcomes := range [][]sluice.Outcome{{}, {0}, {sluice.OutcomeFail, sluice.OutcomeCancelled + 1}, {99}} {
		require.ErrorContains(t, counts(outcomes...), "counts: found 255; allowed a set of outcomes", outcomes)
	}
}

func TestMust(t *testing.T) {
	assert.NotNil(t, sluice.Must(sluice.NewBulkhead(sluice.BulkheadConfig{Concurrent: 1})))
	assert.PanicsWithError(t, "concurrent: found 0; allowed 1 to 1000000", func() {
		sluice.Must(sluice.NewBulkhead(sluice.BulkheadConfig{}))
	})
}

// TestRetryOn says what errors mean to a retry and to a breaker.
func TestRetryOn(t *testing.T) {
	inner := sluice.Must(sluice.NewBreaker(sluice.BreakerConfig{Initial: sluice.ModeForcedOpen}))
	refused := func(context.Context) error { return inner.Do(context.Background(), good) }
	returns := func(err error) func(context.Context) error {
		return func(context.Context) error { return err }
	}
	timeout := returns(&sluice.TimeoutError{Step: "inner"})
	retries, once := 3, 1
	for _, c := range []struct {
		name    string
		options []sluice.Option
		fn      func(context.Context) error
		want    int
	}{
		{"named", []sluice.Option{sluice.RetryOn(errBoom)}, returns(errBoom), retries},
		{"wrapped", []sluice.Option{sluice.RetryOn(errBoom, io.EOF)}, returns(fmt.Errorf("read: %w", io.EOF)), retries},
		{"another", []sluice.Option{sluice.RetryOn(errBoom)}, returns(io.EOF), once},
		{"two lists", []sluice.Option{sluice.RetryOn(errBoom), sluice.RetryOn(io.EOF)}, returns(errBoom), retries},
		{"not aborted", []sluice.Option{sluice.AbortOn(errBoom)}, returns(io.EOF), retries},
		{"aborted", []sluice.Option{sluice.AbortOn(errBoom, io.EOF)}, returns(fmt.Errorf("read: %w", io.EOF)), once},
		{"abort comes first", []sluice.Option{sluice.RetryOn(errBoom), sluice.AbortOn(errBoom)}, returns(errBoom), once},
		{"aborts, else", []sluice.Option{sluice.AbortOn(io.EOF), sluice.WithClassify(func(error) sluice.Outcome { return sluice.OutcomeIgnore })}, returns(errBoom), once},
		{"retries, else", []sluice.Option{sluice.RetryOn(io.EOF), sluice.WithClassify(func(error) sluice.Outcome { return sluice.OutcomeThrottle })}, returns(errBoom), retries},
		{"marked", []sluice.Option{sluice.RetryOn(errBoom)}, returns(sluice.Ignore(errBoom)), once},
		{"throttled", []sluice.Option{sluice.RetryOn(errBoom)}, returns(sluice.Throttle(io.EOF, 0)), retries},
		{"timed out inside", []sluice.Option{sluice.RetryOn(errBoom)}, timeout, retries},
		{"timed out inside and aborted", []sluice.Option{sluice.AbortOn(context.DeadlineExceeded)}, timeout, once},
		{"refused inside and aborted", []sluice.Option{sluice.AbortOn(sluice.ErrRejected)}, refused, once},
	} {
		config := sluice.RetryConfig{Attempts: 3, Backoff: sluice.BackoffConfig{}}
		calls := 0
		fn := func(ctx context.Context) error { calls++; return c.fn(ctx) }
		retrier, err := sluice.NewRetry(config, c.options...)
		require.NoError(t, err)
		failed := retrier.Do(t.Context(), fn)
		assert.Equal(t, c.want, calls, "%s, retrier", c.name)
		if c.want == once {
			assert.True(t, errors.Is(failed, c.fn(t.Context())) || errors.Is(failed, sluice.ErrRejected) || errors.Is(failed, errBoom), "%s: %v", c.name, failed)
		}
		p, err := sluice.New(sluice.PolicyOf("p", config), c.options...)
		require.NoError(t, err)
		calls = 0
		failed = sluice.Run(t.Context(), p, fn)
		assert.Equal(t, c.want, calls, "%s, pipeline", c.name)
		if c.name == "another" {
			assert.Equal(t, io.EOF, failed, "what the function returned, by ==")
		}
	}
}

// TestRetryOnCounts has a breaker count what a retry repeats, and nothing else.
func TestRetryOnCounts(t *testing.T) {
	b := sluice.Must(sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 2}, sluice.RetryOn(errBoom)))
	for range 5 {
		require.Equal(t, io.EOF, b.Do(t.Context(), func(context.Context) error { return io.EOF }))
	}
	assert.Equal(t, sluice.ModeClosed, b.Mode())
	for range 2 {
		require.Equal(t, errBoom, b.Do(t.Context(), func(context.Context) error { return errBoom }))
	}
	assert.Equal(t, sluice.ModeOpen, b.Mode())
}

// TestNoErrorsNamed refuses lists that name no error, wherever they are given.
func TestNoErrorsNamed(t *testing.T) {
	for _, option := range []sluice.Option{sluice.AbortOn(), sluice.AbortOn(errBoom, nil), sluice.RetryOn(), sluice.RetryOn(nil)} {
		_, a := sluice.NewRetry(sluice.RetryConfig{}, option)
		_, b := sluice.NewBreaker(sluice.BreakerConfig{}, option)
		_, c := sluice.New(sluice.PolicyOf("p", sluice.RetryConfig{}), option)
		_, d := sluice.Parse("p.yaml", []byte("version: 1\npolicies: {p: {steps: [retry: 3]}}\n"), option)
		_, e := sluice.NewHedge(sluice.HedgeConfig{After: time.Second}, option)
		for _, err := range []error{a, b, c, d, e} {
			require.ErrorContains(t, err, "allowed one error or more, none of them nil")
		}
	}
	_, err := sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Second}, sluice.AbortOn(errBoom))
	require.EqualError(t, err, "sluice: AbortOn has no effect on a Limiter")
	_, err = sluice.NewBulkhead(sluice.BulkheadConfig{Concurrent: 1}, sluice.RetryOn(errBoom))
	require.EqualError(t, err, "sluice: RetryOn has no effect on a Bulkhead")
}
