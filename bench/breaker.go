package main

import (
	"context"
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
		{name: "breaker open", allocs: -1, sluice: repeated(refused(ourOpen)), peers: []peer{
			{"gobreaker Execute", repeated(refused(goOpen)), 0},
			{"failsafe-go executor", repeated(refused(failsafeOpen)), 0},
		}},
		{name: "breaker open, pass", allocs: 0, sluice: repeated(refused(ourOpenPass)), peers: []peer{
			{"gobreaker two-step", repeated(refused(goOpenTwoStep)), 0},
			{"failsafe-go permit", repeated(refused(failsafeOpenPermit)), 0},
		}},
		{name: "breaker open, parallel", allocs: -1, sluice: crowded(refused(ourOpen)), peers: []peer{
			{"gobreaker Execute", crowded(refused(goOpen)), 1},
			{"failsafe-go executor", crowded(refused(failsafeOpen)), 0},
		}},
		{name: "breaker open, pass, parallel", allocs: 0, sluice: crowded(refused(ourOpenPass)), peers: []peer{
			{"gobreaker two-step", crowded(refused(goOpenTwoStep)), 1},
			{"failsafe-go permit", crowded(refused(failsafeOpenPermit)), 0},
		}},
	}
}

func ourConfig(window breaker.WindowKind) breaker.Config {
	c := breaker.Config{Window: window, Count: 100, Minimum: 100, FailureRate: reducer.Percent(50),
		Open: backoff.Config{Kind: backoff.Constant, Base: time.Hour}, Probes: 10}
	if window == breaker.Time {
		c.Count, c.Span = 10, 10*time.Second
	}
	return c
}

func ourBreaker(window breaker.WindowKind) caller {
	return func(ctx context.Context) func() {
		b := must(sluice.NewBreaker(ourConfig(window)))
		return func() { good(b.Do(ctx, job)) }
	}
}

func ourPass(context.Context) func() {
	b := must(sluice.NewBreaker(ourConfig(breaker.Calls)))
	return func() {
		pass, ok := b.TryAcquire()
		if !ok {
			panic(sluice.ErrRejected)
		}
		pass.Done(reducer.OK)
	}
}

func ourOpened() *sluice.Breaker {
	b := must(sluice.NewBreaker(ourConfig(breaker.Calls)))
	b.Transition(breaker.Open)
	return b
}

func ourOpen(ctx context.Context) func() error {
	b := ourOpened()
	return func() error { return b.Do(ctx, job) }
}

// ourOpenPass returns an error of the benchmark.
func ourOpenPass(context.Context) func() error {
	b := ourOpened()
	return func() error {
		if _, ok := b.TryAcquire(); !ok {
			return sluice.ErrRejected
		}
		return nil
	}
}

func goBreaker(s gobreaker.Settings) caller {
	return func(context.Context) func() {
		b := gobreaker.NewCircuitBreaker[int](s)
		return func() { done(b.Execute(work)) }
	}
}

func goTwoStep(context.Context) func() {
	b := gobreaker.NewTwoStepCircuitBreaker[int](gobreaker.Settings{})
	return func() { must(b.Allow())(nil) }
}

// atOnce opens with the first failure.
var atOnce = gobreaker.Settings{Timeout: time.Hour, ReadyToTrip: func(gobreaker.Counts) bool { return true }}

func goOpen(context.Context) func() error {
	b := gobreaker.NewCircuitBreaker[int](atOnce)
	_, err := b.Execute(func() (int, error) { return 0, errWork })
	bad(err)
	return func() error { _, err := b.Execute(work); return err }
}

func goOpenTwoStep(context.Context) func() error {
	b := gobreaker.NewTwoStepCircuitBreaker[int](atOnce)
	must(b.Allow())(errWork)
	return func() error { _, err := b.Allow(); return err }
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
		return func() { done(b.Get(work)) }
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

func failsafeOpened() circuitbreaker.CircuitBreaker[int] {
	b := countRule(circuitbreaker.NewBuilder[int]()).WithDelay(time.Hour).Build()
	b.Open()
	return b
}

func failsafeOpen(context.Context) func() error {
	e := failsafe.With[int](failsafeOpened())
	return func() error { _, err := e.Get(work); return err }
}

func failsafeOpenPermit(context.Context) func() error {
	b := failsafeOpened()
	return func() error {
		if !b.TryAcquirePermit() {
			return circuitbreaker.ErrOpen
		}
		return nil
	}
}
