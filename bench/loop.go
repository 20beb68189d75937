package main

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A contender is made with a context that can be cancelled, and returns its
// operation.
type (
	// caller's use must succeed, or panic.
	caller func(ctx context.Context) func()
	// allower's use reports whether a permit was free.
	allower func(ctx context.Context) func() bool
	// refuser's use must be refused.
	refuser func(ctx context.Context) func() error
)

// repeated uses the contender on one goroutine.
func repeated(make caller) contender { return by(1, make) }

// crowded uses it on as many goroutines as there are CPUs.
func crowded(make caller) contender { return by(runtime.GOMAXPROCS(0), make) }

// contended uses it on many more.
func contended(make caller) contender { return by(16*runtime.GOMAXPROCS(0), make) }

// by makes a new contender for each turn, so that its place in memory varies between
// turns.
func by(workers int, make caller) contender {
	return func(ctx context.Context) turn {
		return func(o options) figure {
			runtime.GC() // of the contender before
			return timed(o, slices.Repeat([]func(){make(ctx)}, workers))
		}
	}
}

// timed calls each function on a goroutine of its own, again and again, and
// returns what one call cost.
func timed(o options, uses []func()) figure {
	counts := make([]int, len(uses))
	gate := make(chan struct{})
	var start time.Time
	var workers sync.WaitGroup
	for i, use := range uses {
		workers.Go(func() {
			<-gate
			counts[i] = loop(use, start.Add(o.each))
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	used, _ := processor()
	start = time.Now()
	close(gate)
	workers.Wait()
	spent := time.Since(start)
	if o.cpu {
		now, _ := processor()
		spent = now - used
	}
	runtime.ReadMemStats(&after)
	n := 0
	for _, count := range counts {
		n += count
	}
	return figure{
		value:  float64(spent.Nanoseconds()) / float64(n),
		bytes:  int64(after.TotalAlloc-before.TotalAlloc) / int64(n),
		allocs: int64(after.Mallocs-before.Mallocs) / int64(n),
	}
}

// mostCalls between two readings of the clock: a reading then costs less than 0.1 ns
// a call.
const mostCalls = 1024

func loop(use func(), end time.Time) (n int) {
	for batch := 1; ; batch = min(2*batch, mostCalls) {
		for range batch {
			use()
		}
		n += batch
		if !time.Now().Before(end) {
			return n
		}
	}
}

// asking uses an allower. All results but the first must equal the answer.
func asking(make allower, answer bool) caller {
	return func(ctx context.Context) func() {
		allow := make(ctx)
		allow()
		return func() {
			if allow() != answer {
				panic("another result than that of the case")
			}
		}
	}
}

func refused(make refuser) caller {
	return func(ctx context.Context) func() {
		use := make(ctx)
		return func() { bad(use()) }
	}
}

// must is for configurations that are known to be valid.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func good(err error) {
	if err != nil {
		panic(err)
	}
}

// done panics unless the result is the result of the work.
func done(value int, err error) {
	if value != worth || err != nil {
		panic("the work was not done")
	}
}

func bad(err error) {
	if err == nil {
		panic("no error, although the case is a refusal")
	}
}
