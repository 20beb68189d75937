package main

import (
	"context"
	"time"

	"github.com/avast/retry-go/v5"
	cenkalti "github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargo "github.com/sethvargo/go-retry"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	core "github.com/sluice-go/sluice/core/retry"
)

// retrying makes a retry of three attempts with a delay that doubles, or none for 0.
// The work fails as often before it succeeds.
type retrying func(delay time.Duration, failures int) caller

func retryTasks() []task {
	return []task{
		retryTask("retry, first attempt", repeated, 100*time.Millisecond, 0, 1.5),
		retryTask("retry, first attempt, parallel", crowded, 100*time.Millisecond, 0, 0),
		retryTask("retry, third attempt, no delay", repeated, 0, 2, 0),
	}
}

func retryTask(name string, how func(caller) contender, delay time.Duration, failures int, target float64) task {
	t := task{name: name, allocs: -1, sluice: how(ourRetry(delay, failures)), peers: []peer{
		{"go-retry", how(sethvargoRetry(delay, failures)), target},
		{"backoff", how(cenkaltiRetry(delay, failures)), 0},
		{"retry-go", how(avastRetry(delay, failures)), 0},
		{"failsafe-go executor", how(failsafeRetry(delay, failures)), 0},
	}}
	if failures == 0 {
		t.allocs = 0
	}
	return t
}

// failing is work that fails so often before each success. Work that never fails may
// be called concurrently.
func failing(failures int, failure error) func() (int, error) {
	if failures == 0 {
		return work
	}
	n := 0
	return func() (int, error) {
		if n++; n%(failures+1) != 0 {
			return 0, failure
		}
		return work()
	}
}

func ourRetry(delay time.Duration, failures int) caller {
	return func(ctx context.Context) func() {
		c := core.Config{Attempts: 3}
		if delay > 0 {
			c.Backoff = backoff.Config{Kind: backoff.Exponential, Base: delay, Factor: 2 * backoff.FactorOne}
		}
		r := must(sluice.NewRetry(c))
		fail := failing(failures, errWork)
		fn := func(context.Context) (int, error) { return fail() }
		return func() { done(sluice.Retry(ctx, r, fn)) }
	}
}

func sethvargoRetry(delay time.Duration, failures int) caller {
	return func(ctx context.Context) func() {
		fail := failing(failures, sethvargo.RetryableError(errWork))
		fn := func(context.Context) (int, error) { return fail() }
		none := sethvargo.BackoffFunc(func() (time.Duration, bool) { return 0, false })
		return func() {
			var b sethvargo.Backoff = none
			if delay > 0 {
				b = sethvargo.NewExponential(delay)
			}
			done(sethvargo.DoValue(ctx, sethvargo.WithMaxRetries(2, b), fn))
		}
	}
}

// cenkaltiRetry uses the exponential backoff that backoff makes itself.
func cenkaltiRetry(delay time.Duration, failures int) caller {
	return func(ctx context.Context) func() {
		fn := failing(failures, errWork)
		if delay == 0 {
			return func() {
				done(cenkalti.Retry(ctx, fn, cenkalti.WithMaxTries(3), cenkalti.WithBackOff(&cenkalti.ZeroBackOff{})))
			}
		}
		return func() { done(cenkalti.Retry(ctx, fn, cenkalti.WithMaxTries(3))) }
	}
}

func avastRetry(delay time.Duration, failures int) caller {
	return func(ctx context.Context) func() {
		r := retry.NewWithData[int](retry.Context(ctx), retry.Attempts(3), retry.Delay(delay), retry.DelayType(retry.BackOffDelay))
		fn := failing(failures, errWork)
		return func() { done(r.Do(fn)) }
	}
}

func failsafeRetry(delay time.Duration, failures int) caller {
	return func(context.Context) func() {
		b := retrypolicy.NewBuilder[int]().WithMaxAttempts(3)
		if delay > 0 {
			b = b.WithBackoff(delay, time.Minute)
		}
		e := failsafe.With[int](b.Build())
		fn := failing(failures, errWork)
		return func() { done(e.Get(fn)) }
	}
}
