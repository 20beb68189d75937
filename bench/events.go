package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
)

// eventTasks measure a call with a listener beside the same call without one.
func eventTasks() []task {
	without := func(of caller) []peer { return []peer{{"without a listener", repeated(of), 0}} }
	return []task{
		{name: "pipeline of six, listener", allocs: 1, sluice: repeated(heardPipeline()), peers: without(ourPipeline)},
		{name: "pipeline of six, listener of changes", allocs: 1, sluice: repeated(heardPipeline(sluice.EventChange)), peers: without(ourPipeline)},
		{name: "pipeline of six, logger at info", allocs: 1, sluice: repeated(loggedPipeline), peers: without(ourPipeline)},
		{name: "pipeline of six, observer", allocs: 1, sluice: repeated(observedPipeline), peers: without(ourPipeline)},
		{name: "pipeline of six, Metrics", allocs: 1, sluice: repeated(measuredPipeline), peers: without(ourPipeline)},
		{name: "limiter allow, listener", allocs: 0, sluice: repeated(heardLimiter()), peers: without(ourAllowance)},
		{name: "limiter allow, listener of refusals", allocs: 0, sluice: repeated(heardLimiter(sluice.EventReject)), peers: without(ourAllowance)},
		{name: "breaker do, listener", allocs: 0, sluice: repeated(heardBreaker()), peers: without(ourBreaker(breaker.Calls))},
		{name: "breaker do, listener of changes", allocs: 0, sluice: repeated(heardBreaker(sluice.EventChange)), peers: without(ourBreaker(breaker.Calls))},
	}
}

// heard counts events.
func heard() func(sluice.Event) {
	n := 0
	return func(sluice.Event) { n++ }
}

func heardPipeline(kinds ...sluice.EventKind) caller {
	return func(context.Context) func() {
		p := vendor(plenty)
		p.Listen(heard(), kinds...)
		fn := func(context.Context) (int, error) { return work() }
		return func() { done(sluice.Do(context.Background(), p, fn)) }
	}
}

func ourAllowance(context.Context) func() {
	l := allowance()
	return func() { allowed(l) }
}

func heardLimiter(kinds ...sluice.EventKind) caller {
	return func(context.Context) func() {
		l := allowance()
		l.Listen(heard(), kinds...)
		return func() { allowed(l) }
	}
}

func allowance() *sluice.Limiter {
	return must(sluice.NewLimiter(limiter.Config{Count: uint32(plenty.count), Period: plenty.period}))
}

func allowed(l *sluice.Limiter) {
	if !l.Allow() {
		panic(sluice.ErrRejected)
	}
}

func loggedPipeline(context.Context) func() {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	p := must(sluice.Parse("bench.yaml", fmt.Appendf(nil, document, plenty.count, plenty.period), sluice.WithLogger(logger))).Pipeline("vendor")
	fn := func(context.Context) (int, error) { return work() }
	return func() { done(sluice.Do(context.Background(), p, fn)) }
}

// tally counts events.
type tally struct{ n int }

func (x *tally) Observe(sluice.Event)                             { x.n++ }
func (x *tally) Admitted(string)                                  { x.n++ }
func (x *tally) Succeeded(string, context.Context, time.Duration) { x.n++ }

func observedPipeline(context.Context) func() {
	p := vendor(plenty)
	p.Observe(new(tally))
	fn := func(context.Context) (int, error) { return work() }
	return func() { done(sluice.Do(context.Background(), p, fn)) }
}

func measuredPipeline(context.Context) func() {
	p := vendor(plenty)
	p.Observe(new(sluice.Metrics))
	fn := func(context.Context) (int, error) { return work() }
	return func() { done(sluice.Do(context.Background(), p, fn)) }
}

func heardBreaker(kinds ...sluice.EventKind) caller {
	return func(ctx context.Context) func() {
		b := must(sluice.NewBreaker(ourConfig(breaker.Calls)))
		b.Listen(heard(), kinds...)
		return func() { good(b.Do(ctx, job)) }
	}
}
