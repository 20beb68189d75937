package main

import (
	"context"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"github.com/sluice-go/sluice"
)

// document is timeout, retry, breaker, limiter, bulkhead and timeout. The rate must
// be filled in.
const document = `
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 100ms, max: 10s}, jitter: none}
      - breaker: {window: {calls: 100}}
      - limit: {rate: %d/%s}
      - bulkhead: 100
      - timeout: 10s
`

func pipelineTasks() []task {
	return []task{
		{name: "pipeline of six", allocs: 1, sluice: repeated(ourPipeline), peers: []peer{
			{"failsafe-go", repeated(failsafePipeline), 15},
		}},
		{name: "pipeline of six, parallel", allocs: 1, sluice: crowded(ourPipeline), peers: []peer{
			{"failsafe-go", crowded(failsafePipeline), 0},
		}},
		{name: "pipeline of six, request's context", allocs: 1, sluice: repeated(ourPipelineWithContext), peers: []peer{
			{"failsafe-go", repeated(failsafePipelineWithContext), 15},
		}},
		{name: "pipeline of six, fn asks Done()", allocs: -1, sluice: repeated(ourPipelineAsksDone), peers: []peer{
			{"failsafe-go", repeated(failsafePipelineAsksDone), 7},
		}},
		{name: "pipeline of six, request's context, fn asks Done()", allocs: -1, sluice: repeated(ourPipelineAsksDoneWithContext), peers: []peer{
			{"failsafe-go", repeated(failsafePipelineAsksDoneWithContext), 0},
		}},
		{name: "pipeline of six, refused", allocs: -1, sluice: repeated(refused(ourPipelineRefused)), peers: []peer{
			{"failsafe-go", repeated(refused(failsafePipelineRefused)), 0},
		}},
	}
}

func vendor(q quota) *sluice.Pipeline {
	src := fmt.Sprintf(document, q.count, q.period)
	return must(sluice.Parse("bench.yaml", []byte(src))).Pipeline("vendor")
}

func ourPipeline(context.Context) func() { return ourPipelineWithContext(context.Background()) }

func ourPipelineWithContext(ctx context.Context) func() {
	p := vendor(plenty)
	fn := func(context.Context) (int, error) { return work() }
	return func() { done(sluice.Do(ctx, p, fn)) }
}

func ourPipelineAsksDone(context.Context) func() {
	return ourPipelineAsksDoneWithContext(context.Background())
}

func ourPipelineAsksDoneWithContext(ctx context.Context) func() {
	p := vendor(plenty)
	fn := func(ctx context.Context) (int, error) {
		if ctx.Done() == nil {
			panic("a context that never ends")
		}
		return work()
	}
	return func() { done(sluice.Do(ctx, p, fn)) }
}

func ourPipelineRefused(context.Context) func() error {
	p := vendor(scant)
	fn := func(context.Context) (int, error) { return work() }
	use := func() error { _, err := sluice.Do(context.Background(), p, fn); return err }
	good(use())
	return use
}

// composition is the same in failsafe-go, made once as its documentation says. It is
// configured so that a refusal is not a failure, as in Sluice.
func composition(q quota, failures ...error) failsafe.Executor[int] {
	attempts := retrypolicy.NewBuilder[int]().WithMaxAttempts(3).WithBackoff(100*time.Millisecond, 10*time.Second)
	votes := countRule(circuitbreaker.NewBuilder[int]())
	if len(failures) > 0 {
		attempts, votes = attempts.HandleErrors(failures...), votes.HandleErrors(failures...)
	}
	return failsafe.With[int](
		timeout.New[int](30*time.Second),
		attempts.Build(),
		votes.Build(),
		ratelimiter.NewBursty[int](uint(q.count), q.period),
		bulkhead.New[int](100),
		timeout.New[int](10*time.Second),
	)
}

func failsafePipeline(context.Context) func() {
	e := composition(plenty)
	return func() { done(e.Get(work)) }
}

func failsafePipelineWithContext(ctx context.Context) func() {
	e := composition(plenty)
	return func() { done(e.WithContext(ctx).Get(work)) }
}

func failsafePipelineAsksDone(context.Context) func() {
	return failsafePipelineAsksDoneWithContext(context.Background())
}

func failsafePipelineAsksDoneWithContext(ctx context.Context) func() {
	e := composition(plenty)
	fn := func(x failsafe.Execution[int]) (int, error) {
		if x.Context().Done() == nil {
			panic("a context that never ends")
		}
		return work()
	}
	return func() { done(e.WithContext(ctx).GetWithExecution(fn)) }
}

func failsafePipelineRefused(context.Context) func() error {
	e := composition(scant, errWork)
	use := func() error { _, err := e.Get(work); return err }
	good(use())
	return use
}
