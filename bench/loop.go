package main

import (
	"context"
	"testing"
)

// A contender is made with the context of a request, which somebody may
// cancel, and returns its one use.
type (
	// caller's use must go well, or panic.
	caller func(ctx context.Context) func()
	// allower's use answers whether a permit was free.
	allower func() func() bool
)

// cpuMetric is the processor time of one operation.
const cpuMetric = "cpu-ns/op"

// counted runs a loop and reports the processor time that it took.
func counted(b *testing.B, loop func()) {
	b.ReportAllocs()
	before, _ := processor()
	loop()
	after, ok := processor()
	if ok && b.N > 0 {
		b.ReportMetric(float64(after-before)/float64(b.N), cpuMetric)
	}
}

// repeated uses the contender on one goroutine.
func repeated(make caller) body {
	return func(b *testing.B) {
		use := make(b.Context())
		counted(b, func() {
			for b.Loop() {
				use()
			}
		})
	}
}

// crowded uses it on as many goroutines as there are CPUs.
func crowded(make caller) body {
	return func(b *testing.B) {
		use := make(b.Context())
		counted(b, func() {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					use()
				}
			})
		})
	}
}

// answered is repeated for a question. All but the first have the answer.
func answered(make allower, answer bool) body { return repeated(asking(make, answer)) }

// shouted is crowded for a question.
func shouted(make allower, answer bool) body { return crowded(asking(make, answer)) }

func asking(make allower, answer bool) caller {
	return func(context.Context) func() {
		allow := make()
		allow()
		return func() {
			if allow() != answer {
				panic("another answer than the case is about")
			}
		}
	}
}

// must is for configurations that are known to be right.
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

func bad(err error) {
	if err == nil {
		panic("no error, and the case is about one")
	}
}
