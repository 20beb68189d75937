package main

import (
	"context"
	"io"

	"github.com/sluice-go/sluice"
)

// traceTasks measure a call that is traced beside the same call without a trace.
func traceTasks() []task {
	without := []peer{{"without a trace", repeated(ourPipeline), 0}}
	return []task{
		{name: "traced, in memory", allocs: -1, sluice: repeated(traced(func() sluice.TraceOptions { return sluice.TraceOptions{} })), peers: without},
		{name: "traced, to a writer", allocs: -1, sluice: repeated(traced(func() sluice.TraceOptions { return sluice.TraceOptions{Writer: io.Discard} })), peers: without},
		{name: "traced, one key in a hundred", allocs: -1, sluice: repeated(traced(func() sluice.TraceOptions { return sluice.TraceOptions{Sample: .01} })), peers: without},
	}
}

// traced makes calls of ourPipeline with a trace.
func traced(options func() sluice.TraceOptions) func(context.Context) func() {
	return func(ctx context.Context) func() {
		p := vendor(plenty)
		trace := must(p.Trace(options()))
		context.AfterFunc(ctx, func() {
			if err := trace.Stop(); err != nil {
				panic(err)
			}
		})
		fn := func(context.Context) (int, error) { return work() }
		return func() { done(sluice.Do(context.Background(), p, fn)) }
	}
}
