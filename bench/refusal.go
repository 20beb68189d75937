package main

import (
	"context"

	"github.com/sluice-go/sluice/core/breaker"
)

// fair is a refusal that costs at most two admissions.
const fair = 0.5

func refusalTasks() []task {
	return []task{
		refusalTask("refusal, limiter allow", 0, asking(ourLimiter(scant), false), asking(ourLimiter(plenty), true)),
		refusalTask("refusal, keyed limiter allow", 0, asking(ourOneKey(1), false), asking(ourOneKey(heldBurst), true)),
		refusalTask("refusal, bulkhead try", 0, tried(ourTry, 0), tried(ourTry, places)),
		refusalTask("refusal, breaker pass", 0, refused(ourOpenPass), ourPass),
		refusalTask("refusal, bulkhead acquire, with an error", -1, refused(ourFull), ourAcquire),
		refusalTask("refusal, breaker do, with an error", -1, refused(ourOpen), ourBreaker(breaker.Calls)),
		refusalTask("refusal, pipeline of six, with an error", -1, refused(ourPipelineRefused), ourPipeline),
	}
}

func refusalTask(name string, allocs int64, refusal, admission caller) task {
	return task{name: name, allocs: allocs, sluice: repeated(refusal), peers: []peer{{"its own admission", repeated(admission), fair}}}
}

func ourOneKey(burst int) allower {
	return func(ctx context.Context) func() bool { return one(ourKeyed(1)(ctx, heldEvery, burst)) }
}
