package main

import (
	"context"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// adaptiveDocument has no settings: the initial limit is 20, as in failsafe-go.
const adaptiveDocument = `
version: 1
policies:
  vendor:
    steps:
      - adaptive: {initial: 20, maximum: 200}
`

func adaptiveTasks() []task {
	return []task{
		{name: "adaptive do", allocs: 0, sluice: repeated(ourAdaptive), peers: []peer{
			{"failsafe-go executor", repeated(failsafeAdaptive), 1},
		}},
		{name: "adaptive do, parallel", allocs: 0, sluice: crowded(ourAdaptive), peers: []peer{
			{"failsafe-go executor", crowded(failsafeAdaptive), 1},
		}},
		{name: "adaptive by hand", allocs: -1, sluice: repeated(ourAdaptiveByHand), peers: []peer{
			{"failsafe-go permit", repeated(failsafeAdaptiveByHand), 0},
		}},
		{name: "adaptive full", allocs: -1, sluice: repeated(refused(ourAdaptiveFull)), peers: []peer{
			{"failsafe-go executor", repeated(refused(failsafeAdaptiveFull)), 1},
		}},
	}
}

func ourAdaptiveLimit() *sluice.Pipeline {
	return must(sluice.Parse("bench.yaml", []byte(adaptiveDocument))).Pipeline("vendor")
}

func ourAdaptive(ctx context.Context) func() {
	p := ourAdaptiveLimit()
	fn := func(context.Context) (int, error) { return work() }
	return func() { done(sluice.Do(ctx, p, fn)) }
}

func ourAdaptiveByHand(ctx context.Context) func() {
	p := ourAdaptiveLimit()
	return func() {
		c := must(p.Begin(ctx, sluice.Request{}))
		c.Done(reducer.OK)
		c.Release()
	}
}

func ourAdaptiveFull(ctx context.Context) func() error {
	p := ourAdaptiveLimit()
	for range 20 {
		must(p.Begin(ctx, sluice.Request{}))
	}
	fn := func(context.Context) (int, error) { return work() }
	return func() error { _, err := sluice.Do(ctx, p, fn); return err }
}

func failsafeAdaptive(context.Context) func() {
	e := failsafe.With[int](adaptivelimiter.NewWithDefaults[int]())
	return func() { done(e.Get(work)) }
}

func failsafeAdaptiveByHand(context.Context) func() {
	l := adaptivelimiter.NewWithDefaults[int]()
	return func() {
		permit, ok := l.TryAcquirePermit()
		if !ok {
			panic(adaptivelimiter.ErrExceeded)
		}
		permit.Record()
	}
}

func failsafeAdaptiveFull(context.Context) func() error {
	l := adaptivelimiter.NewWithDefaults[int]()
	for range 20 {
		if _, ok := l.TryAcquirePermit(); !ok {
			panic(adaptivelimiter.ErrExceeded)
		}
	}
	e := failsafe.With[int](l)
	return func() error { _, err := e.Get(work); return err }
}
