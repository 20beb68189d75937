package main

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/sony/gobreaker/v2"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

func breakerTasks() []task {
	return []task{
		{name: "breaker do", allocs: 0, sluice: repeated(ourBreaker(breaker.Calls)), peers: []peer{
			{"gobreaker Execute", repeated(goBreaker(gobreaker.Settings{})), 1.2},
			{"failsafe-go executor", repeated(failsafeBreaker(countRule)), 0},
		}},
		{name: "breaker do, parallel", allocs: 0, sluice: crowded(ourBreaker(breaker.Calls)), peers: []peer{
			{"gobreaker Execute", crowded(goBreaker(gobreaker.Settings{})), 0},
			{"failsafe-go executor", crowded(failsafeBreaker(countRule)), 0},
		}},
		{name: "breaker do, window of 10 s", allocs: 0, sluice: repeated(ourBreaker(breaker.Time)), peers: []peer{
			{"gobreaker Execute", repeated(goBreaker(gobreaker.Settings{Interval: 10 * time.Second, BucketPeriod: time.Second})), 0},
			{"failsafe-go executor", repeated(failsafeBreaker(timeRule)), 0},
		}},
		{name: "breaker pass and done", allocs: 0, sluice: repeated(ourPass), peers: []peer{
			{"gobreaker two-step", repeated(goTwoStep), 0},
			{"failsafe-go permit", repeated(failsafePermit), 0},
		}},
		{name: "breaker open", allocs: -1, sluice: repeated(ourOpen), peers: []peer{
			{"gobreaker Execute", repeated(goOpen), 0},
			{"failsafe-go executor", repeated(failsafeOpen), 0},
		}},
	}
}

// work is what is guarded.
func work() (int, error) { return 1, nil }

var errWork = errors.New("down")

func ourConfig(window breaker.WindowKind) breaker.Config {
	c := breaker.Config{Window: window, Count: 100, Minimum: 100, FailureRate: reducer.Whole / 2,
		Open: backoff.Config{Kind: backoff.Constant, Base: time.Hour}, Probes: 10}
	if window == breaker.Time {
		c.Count, c.Span = 10, 10*time.Second
	}
	return c
}

func ourBreaker(window breaker.WindowKind) caller {
	return func(ctx context.Context) func() {
		b := must(sluice.NewBreaker(ourConfig(window)))
		fn := func(context.Context) error { _, err := work(); return err }
		return func() { good(b.Do(ctx, fn)) }
	}
}

func ourPass(context.Context) func() {
	b := must(sluice.NewBreaker(ourConfig(breaker.Calls)))
	return func() { must(b.Acquire()).Done(reducer.OK) }
}

func ourOpen(ctx context.Context) func() {
	b := must(sluice.NewBreaker(ourConfig(breaker.Calls)))
	b.Transition(breaker.Open)
	fn := func(context.Context) error { _, err := work(); return err }
	return func() { bad(b.Do(ctx, fn)) }
}

func goBreaker(s gobreaker.Settings) caller {
	return func(context.Context) func() {
		b := gobreaker.NewCircuitBreaker[int](s)
		return func() { _, err := b.Execute(work); good(err) }
	}
}

func goTwoStep(context.Context) func() {
	b := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{})
	return func() { must(b.Allow())(nil) }
}

func goOpen(context.Context) func() {
	b := gobreaker.NewCircuitBreaker[int](gobreaker.Settings{Timeout: time.Hour, ReadyToTrip: func(gobreaker.Counts) bool { return true }})
	_, err := b.Execute(func() (int, error) { return 0, errWork })
	bad(err)
	return func() { _, err := b.Execute(work); bad(err) }
}

func countRule(b circuitbreaker.Builder[int]) circuitbreaker.Builder[int] {
	return b.WithFailureThresholdRatio(50, 100)
}

func timeRule(b circuitbreaker.Builder[int]) circuitbreaker.Builder[int] {
	return b.WithFailureRateThreshold(0.5, 100, 10*time.Second)
}

func failsafeBreaker(rule func(circuitbreaker.Builder[int]) circuitbreaker.Builder[int]) caller {
	return func(context.Context) func() {
		b := failsafe.With[int](rule(circuitbreaker.NewBuilder[int]()).WithDelay(time.Hour).Build())
		return func() { _, err := b.Get(work); good(err) }
	}
}

func failsafePermit(context.Context) func() {
	b := countRule(circuitbreaker.NewBuilder[int]()).Build()
	return func() {
		if !b.TryAcquirePermit() {
			panic(circuitbreaker.ErrOpen)
		}
		b.RecordSuccess()
	}
}

func failsafeOpen(context.Context) func() {
	b := countRule(circuitbreaker.NewBuilder[int]()).WithDelay(time.Hour).Build()
	b.Open()
	e := failsafe.With[int](b)
	return func() { _, err := e.Get(work); bad(err) }
}
