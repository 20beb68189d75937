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
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// allocates asserts how often f allocates. The race detector allocates itself.
func allocates(t *testing.T, want float64, what string, f func()) {
	t.Helper()
	if testenv.Race {
		t.Skip("with the race detector")
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(1_000, f), want, what)
}

func TestDoAllocatesOnce(t *testing.T) {
	const many = "1000000000/1s"
	ctx := context.Background()
	for _, c := range []struct {
		want  float64
		steps []string
	}{
		{1, []string{"timeout: 30s", "retry: {attempts: 3, budget: 20%}", "breaker: {window: {calls: 100}}", "limit: " + many, "bulkhead: 100", "timeout: 10s"}},
		{1, []string{"timeout: 30s"}},
		{0, []string{"retry: 3", "breaker: {window: {time: 10s, buckets: 10}, slow: {over: 1s, rate: 50%}}", "limit: {rate: " + many + ", wait: 1s}", "bulkhead: {concurrent: 9, wait: 1s}"}},
		{1, []string{"bulkhead: {concurrent: 9, wait: 1s, lease: 1m}"}},
		{1, []string{"limit: " + many, "limit: {name: keyed, per: key, rate: " + many + "}", "timeout: 10s"}},
		{0, []string{"limit: " + many, "bulkhead: 100", "chaos: {fail: 0%, slow: {rate: 0%, by: 1s}}"}},
		{1, []string{"limit: " + many, "timeout: 10s", "chaos: {fail: 0%, slow: {rate: 100%, by: 1s}, shadow: true}"}},
		{0, []string{"limit: {rate: " + many + ", algorithm: fixed-window, shadow: true}", "limit: {rate: " + many + ", algorithm: sliding-counter}"}},
		{0, []string{"limit: {rate: " + many + ", cost: 1}", "limit: {name: tokens, rate: " + many + ", cost: 'header:x-tokens'}"}},
	} {
		p := guarded(t, c.steps)
		allocates(t, c.want, c.steps[0], func() { _, _ = sluice.Do(ctx, p, ok) })
		p.Listen(func(sluice.Event) {})
		allocates(t, c.want, "heard "+c.steps[0], func() { _, _ = sluice.Do(ctx, p, ok) })
		p.Observe(new(sluice.Metrics))
		allocates(t, c.want, "observed "+c.steps[0], func() { _, _ = sluice.Do(ctx, p, ok) })
	}
}

// TestBeginAllocatesOnce also where it keeps places from Done to Release.
func TestBeginAllocatesOnce(t *testing.T) {
	ctx := context.Background()
	for _, steps := range [][]string{
		{"bulkhead: 100"},
		{"timeout: 30s", "retry: {attempts: 3, budget: 20%}", "breaker: {window: {calls: 100}}", "limit: 1000000000/1s", "bulkhead: {concurrent: 9, wait: 1s}", "timeout: 10s"},
		{"adaptive: {initial: 2, minimum: 1, maximum: 4}"},
	} {
		p := guarded(t, steps)
		allocates(t, 1, steps[0], func() {
			c, err := p.Begin(ctx, sluice.Request{})
			if err != nil {
				t.Fatal(err)
			}
			c.Done(reducer.OK)
			c.Release()
		})
	}
}

func TestKeyedDoAllocatesTwice(t *testing.T) {
	ctx := context.Background()
	p := guarded(t, []string{"limit: {rate: 1000000000/1s, per: key}"})
	allocates(t, 2, "keyed", func() { _, _ = sluice.DoWith(ctx, p, sluice.Request{Key: "key"}, ok) })
	p = guarded(t, []string{"limit: {rate: 1000000000/1s, per: key}", "chaos: {fail: 0%}"})
	allocates(t, 2, "keyed under chaos that injects nothing", func() { _, _ = sluice.DoWith(ctx, p, sluice.Request{Key: "key"}, ok) })
}

func TestMechanismsAllocateNothing(t *testing.T) {
	ctx := context.Background()
	l := limited(t, rate(1_000_000_000, time.Second))
	allocates(t, 0, "Allow", func() { l.Allow() })
	allocates(t, 0, "Wait", func() { _ = l.Wait(ctx) })
	allocates(t, 0, "Peek", func() { l.Peek(1) })
	allocates(t, 0, "AllowN refused", func() { l.AllowN(2_000_000_000) })
	for _, a := range algorithms {
		spent := limited(t, limiter.Config{Algorithm: a, Count: 1, Period: time.Hour})
		spent.Allow()
		allocates(t, 0, "Allow refused", func() { spent.Allow() })
	}
	reserved := limited(t, rate(1_000_000_000, time.Second))
	_, err := reserved.Reserve(1, 0)
	require.NoError(t, err)
	allocates(t, 0, "Allow beside a reservation", func() { reserved.Allow() })

	b := broken(t, breakerConfig())
	allocates(t, 0, "Breaker.Do", func() { _ = b.Do(ctx, good) })
	places := walled(t, places(1, 0))
	allocates(t, 0, "Bulkhead", func() {
		place, _ := places.TryAcquire()
		place.Release()
	})
	allocates(t, 0, "Bulkhead.Do", func() { _ = places.Do(ctx, good) })

	b.Transition(breaker.Open)
	allocates(t, 0, "Breaker.TryAcquire refused", func() { b.TryAcquire() })
	place, got := places.TryAcquire()
	require.True(t, got)
	allocates(t, 0, "Bulkhead.TryAcquire refused", func() { places.TryAcquire() })
	place.Release()
	keyed, err := sluice.NewKeyedLimiter(limiter.Config{Count: 1, Period: time.Hour})
	require.NoError(t, err)
	keyed.Allow("key")
	allocates(t, 0, "KeyedLimiter.Allow refused", func() { keyed.Allow("key") })
}

// TestListenersAllocateNothing has each mechanism alone emit to a listener.
func TestListenersAllocateNothing(t *testing.T) {
	ctx, heard := context.Background(), 0
	listener := func(sluice.Event) { heard++ }
	l := limited(t, rate(1_000_000_000, time.Second))
	l.Listen(listener)
	allocates(t, 0, "Allow", func() { l.Allow() })
	allocates(t, 0, "Wait", func() { _ = l.Wait(ctx) })
	allocates(t, 0, "AllowN refused", func() { l.AllowN(2_000_000_000) })
	keyed, err := sluice.NewKeyedLimiter(limiter.Config{Count: 1, Period: time.Hour})
	require.NoError(t, err)
	keyed.Listen(listener)
	allocates(t, 0, "KeyedLimiter.Allow", func() { keyed.Allow("key") })
	b := broken(t, breakerConfig())
	b.Listen(listener)
	allocates(t, 0, "Breaker.Do", func() { _ = b.Do(ctx, good) })
	w := walled(t, places(1, 0))
	w.Listen(listener)
	allocates(t, 0, "Bulkhead.Do", func() { _ = w.Do(ctx, good) })
	r := retrier(t, retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.None}})
	allocates(t, 0, "Retry without a listener", func() { _, _ = sluice.Retry(ctx, r, ok) })
	r.Listen(listener)
	allocates(t, 0, "Retry", func() { _, _ = sluice.Retry(ctx, r, ok) })
	require.NotZero(t, heard)
}
