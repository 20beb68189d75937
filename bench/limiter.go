package main

import (
	"testing"
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
		{name: "limiter allow", allocs: 0, sluice: serially(ourLimiter(plenty, time.Second), true), peers: []peer{
			{"x/time/rate Allow", serially(rateLimiter(plenty, plenty), true), 2},
			{"failsafe-go smooth", serially(failsafeSmooth(plenty, time.Second), true), 1},
			{"failsafe-go bursty", serially(failsafeBursty(plenty, time.Second), true), 0},
		}},
		{name: "limiter allow, parallel", allocs: 0, sluice: together(ourLimiter(plenty, time.Second), true), peers: []peer{
			{"x/time/rate Allow", together(rateLimiter(plenty, plenty), true), 0},
			{"failsafe-go smooth", together(failsafeSmooth(plenty, time.Second), true), 0},
			{"failsafe-go bursty", together(failsafeBursty(plenty, time.Second), true), 0},
		}},
		{name: "limiter refused", allocs: 0, sluice: serially(ourLimiter(1, 24*time.Hour), false), peers: []peer{
			{"x/time/rate Allow", serially(rateLimiter(rate.Every(24*time.Hour), 1), false), 0},
			{"failsafe-go smooth", serially(failsafeSmooth(1, 24*time.Hour), false), 0},
			{"failsafe-go bursty", serially(failsafeBursty(1, 24*time.Hour), false), 0},
		}},
		{name: "limiter refused, parallel", allocs: 0, sluice: together(ourLimiter(1, 24*time.Hour), false), peers: []peer{
			{"x/time/rate Allow", together(rateLimiter(rate.Every(24*time.Hour), 1), false), 0},
			{"failsafe-go smooth", together(failsafeSmooth(1, 24*time.Hour), false), 0},
			{"failsafe-go bursty", together(failsafeBursty(1, 24*time.Hour), false), 0},
		}},
	}
}

// allower makes a limiter and returns its question.
type allower func() func() bool

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

// serially asks on one goroutine. All but the first question have the answer.
func serially(make allower, answer bool) body {
	return func(b *testing.B) {
		allow := make()
		allow()
		b.ReportAllocs()
		for b.Loop() {
			if allow() != answer {
				panic("another answer than the case is about")
			}
		}
	}
}

// together asks on as many goroutines as there are CPUs.
func together(make allower, answer bool) body {
	return func(b *testing.B) {
		allow := make()
		allow()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if allow() != answer {
					panic("another answer than the case is about")
				}
			}
		})
	}
}

// must is for configurations that are known to be right.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
