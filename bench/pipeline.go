package main

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"github.com/sluice-go/sluice"
)

// document is timeout, retry, breaker, limiter, bulkhead and timeout, wide
// enough that nothing is refused.
const document = `
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 100ms, max: 10s}, jitter: none}
      - breaker: {window: {calls: 100}}
      - limit: {rate: 1000000000/1s}
      - bulkhead: 100
      - timeout: 10s
`

func pipelineTasks() []task {
	return []task{
		{name: "pipeline of six", allocs: 1, sluice: repeated(ourPipeline), peers: []peer{
			{"failsafe-go", repeated(failsafePipeline), 10},
		}},
		{name: "pipeline of six, parallel", allocs: 1, sluice: crowded(ourPipeline), peers: []peer{
			{"failsafe-go", crowded(failsafePipeline), 0},
		}},
		{name: "pipeline of six, request's context", allocs: 1, sluice: repeated(ourPipelineWithContext), peers: []peer{
			{"failsafe-go", repeated(failsafePipelineWithContext), 10},
		}},
		{name: "pipeline of six, fn asks Done()", allocs: -1, sluice: repeated(ourPipelineAsksDone), peers: []peer{
			{"failsafe-go", repeated(failsafePipelineAsksDone), 0},
		}},
	}
}

func vendor() *sluice.Pipeline {
	return must(sluice.Parse("bench.yaml", []byte(document))).Pipeline("vendor")
}

func ourPipeline(context.Context) func() { return ourPipelineWithContext(context.Background()) }

func ourPipelineWithContext(ctx context.Context) func() {
	p := vendor()
	fn := func(context.Context) (int, error) { return work() }
	return func() { _, err := sluice.Do(ctx, p, fn); good(err) }
}

func ourPipelineAsksDone(ctx context.Context) func() {
	p := vendor()
	fn := func(ctx context.Context) (int, error) {
		if ctx.Done() == nil {
			panic("a context that never ends")
		}
		return work()
	}
	return func() { _, err := sluice.Do(ctx, p, fn); good(err) }
}

// composition is the same in failsafe-go, made once as its documentation says.
func composition() failsafe.Executor[int] {
	return failsafe.With[int](
		timeout.New[int](30*time.Second),
		retrypolicy.NewBuilder[int]().WithMaxAttempts(3).WithBackoff(100*time.Millisecond, 10*time.Second).Build(),
		countRule(circuitbreaker.NewBuilder[int]()).Build(),
		ratelimiter.NewBursty[int](plenty, time.Second),
		bulkhead.New[int](100),
		timeout.New[int](10*time.Second),
	)
}

func failsafePipeline(context.Context) func() {
	e := composition()
	return func() { _, err := e.Get(work); good(err) }
}

func failsafePipelineWithContext(ctx context.Context) func() {
	e := composition()
	return func() { _, err := e.WithContext(ctx).Get(work); good(err) }
}

func failsafePipelineAsksDone(context.Context) func() {
	e := composition()
	fn := func(x failsafe.Execution[int]) (int, error) {
		if x.Context().Done() == nil {
			panic("a context that never ends")
		}
		return work()
	}
	return func() { _, err := e.GetWithExecution(fn); good(err) }
}
