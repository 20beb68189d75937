package main

import (
	"time"

	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"golang.org/x/time/rate"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/limiter"
)

// plenty is a rate at which nothing is refused: more permits a second than
// anybody can ask for, in a bucket that never runs dry.
const plenty = 1_000_000_000

func limiterTasks() []task {
	return []task{
		{name: "limiter allow", allocs: 0, sluice: answered(ourLimiter(plenty, time.Second), true), peers: []peer{
			{"x/time/rate Allow", answered(rateLimiter(plenty, plenty), true), 2},
			{"failsafe-go smooth", answered(failsafeSmooth(plenty, time.Second), true), 1},
			{"failsafe-go bursty", answered(failsafeBursty(plenty, time.Second), true), 0},
		}},
		{name: "limiter allow, parallel", allocs: 0, sluice: shouted(ourLimiter(plenty, time.Second), true), peers: []peer{
			{"x/time/rate Allow", shouted(rateLimiter(plenty, plenty), true), 0},
			{"failsafe-go smooth", shouted(failsafeSmooth(plenty, time.Second), true), 0},
			{"failsafe-go bursty", shouted(failsafeBursty(plenty, time.Second), true), 0},
		}},
		{name: "limiter refused", allocs: 0, sluice: answered(ourLimiter(1, 24*time.Hour), false), peers: []peer{
			{"x/time/rate Allow", answered(rateLimiter(rate.Every(24*time.Hour), 1), false), 0},
			{"failsafe-go smooth", answered(failsafeSmooth(1, 24*time.Hour), false), 0},
			{"failsafe-go bursty", answered(failsafeBursty(1, 24*time.Hour), false), 0},
		}},
		{name: "limiter refused, parallel", allocs: 0, sluice: shouted(ourLimiter(1, 24*time.Hour), false), peers: []peer{
			{"x/time/rate Allow", shouted(rateLimiter(rate.Every(24*time.Hour), 1), false), 0},
			{"failsafe-go smooth", shouted(failsafeSmooth(1, 24*time.Hour), false), 0},
			{"failsafe-go bursty", shouted(failsafeBursty(1, 24*time.Hour), false), 0},
		}},
	}
}

func ourLimiter(count uint32, period time.Duration) allower {
	return func() func() bool {
		return must(sluice.NewLimiter(limiter.Config{Count: count, Period: period})).Allow
	}
}

func rateLimiter(limit rate.Limit, burst int) allower {
	return func() func() bool { return rate.NewLimiter(limit, burst).Allow }
}

func failsafeSmooth(count uint, period time.Duration) allower {
	return func() func() bool { return ratelimiter.NewSmooth[any](count, period).TryAcquirePermit }
}

func failsafeBursty(count uint, period time.Duration) allower {
	return func() func() bool { return ratelimiter.NewBursty[any](count, period).TryAcquirePermit }
}
