package main

import (
	"context"

	"github.com/sluice-go/sluice/core/breaker"
)

const (
	// fair is a refusal that costs at most two admissions.
	fair = 0.5
	// wordy is a refusal with an error, half of whose cost is its allocation.
	wordy = 0
)

func refusalTasks() []task {
	return []task{
		refusalTask("refusal, limiter allow", fair, asking(ourLimiter(scant), false), asking(ourLimiter(plenty), true)),
		refusalTask("refusal, keyed limiter allow", fair, asking(ourOneKey(1), false), asking(ourOneKey(heldBurst), true)),
		refusalTask("refusal, bulkhead try", fair, tried(ourTry, 0), tried(ourTry, places)),
		refusalTask("refusal, breaker pass", fair, refused(ourOpenPass), ourPass),
		refusalTask("refusal, bulkhead acquire, with an error", wordy, refused(ourFull), ourAcquire),
		refusalTask("refusal, breaker do, with an error", wordy, refused(ourOpen), ourBreaker(breaker.Calls)),
		refusalTask("refusal, pipeline of six, with an error", wordy, refused(ourPipelineRefused), ourPipeline),
	}
}

func refusalTask(name string, target float64, refusal, admission caller) task {
	allocs := int64(-1)
	if target == fair {
		allocs = 0
	}
	return task{name: name, allocs: allocs, sluice: repeated(refusal), peers: []peer{{"its own admission", repeated(admission), target}}}
}

func ourOneKey(burst int) allower {
	return func(ctx context.Context) func() bool { return one(ourKeyed(1)(ctx, heldEvery, burst)) }
}
