package main

import (
	"context"
	"errors"
)

// worth is the result of the work.
const worth = 1

// work is what is guarded.
func work() (int, error) { return worth, nil }

// job is the work with a context and without a value.
func job(context.Context) error { _, err := work(); return err }

// errWork is its error.
var errWork = errors.New("down")

// libraries are the peers' modules.
var libraries = [...]string{
	"github.com/avast/retry-go/v5",
	"github.com/cenkalti/backoff/v5",
	"github.com/failsafe-go/failsafe-go",
	"github.com/juju/ratelimit",
	"github.com/sethvargo/go-limiter",
	"github.com/sethvargo/go-retry",
	"github.com/sony/gobreaker/v2",
	"github.com/throttled/throttled/v2",
	"go.uber.org/ratelimit",
	"golang.org/x/sync",
	"golang.org/x/time",
}

// cases are all measured cases, in the order of the page.
func cases() []section {
	return []section{
		{"Limiters", "One limiter for all. Parallel: a goroutine for each CPU; contended: sixteen. The rate is never reached, or it is one permit a day.", limiterTasks()},
		{"Limiters per key", "Keys of 16 bytes, drawn under a Zipf law (s = 1.1), the same sequence for all. Every key is inserted before and stays in the table. " +
			"Of the pipeline they are uniform. By hand: an x/time/rate limiter for each key.", keyedTasks()},
		{"Memory per key", "Growth of the heap, without the keys themselves. New keys: a million, each seen once and forgettable 1 ms later; in bytes a key seen.", memoryTasks()},
		{"Breakers", "Closed, except in the last two cases. 100 calls in the window.", breakerTasks()},
		{"Bulkheads", "Of 100 places, acquired and released; full where the case says so.", bulkheadTasks()},
		{"Adaptive limits", "20 places at first, one acquired and released; none free where the case says so. By hand: a permit, and a record of its end. " +
			"Sluice's limit is a policy of one step.", adaptiveTasks()},
		{"Retries", "At most three attempts. go-retry and backoff make their backoff for each call, because it has state.", retryTasks()},
		{"Pipelines", "Timeout, retry, breaker, limiter, bulkhead and timeout, composed.", pipelineTasks()},
		{"Traces", "A call of the pipeline of six while it is traced, four lines a call, beside the same call without a trace: 0.5x is a trace that costs as much as " +
			"the call.", traceTasks()},
		{"Telemetry", "A call of the pipeline of six that is observed, beside the same call without a listener: 0.5x is telemetry that costs as much as the call. " +
			"A call without a listener makes no event.", telemetryTasks()},
		{"Listeners", "A call with a listener beside the same call without one. A pipeline emits two events a call, a breaker two, a limiter one.", eventTasks()},
		{"HTTP middleware", "One limit in front of a handler that writes 13 bytes, without a connection. Sluice also bounds how long a client takes, and records the outcome. " +
			"Every figure includes the bare handler. In `http, refused`, 0.5x is twice the time of `http.Error`: the answer of Sluice has headers and a problem document.", httpTasks()},
		{"gRPC interceptors", "Of unary calls, around a call or handler that does nothing, without a connection, so without the time of gRPC itself.", grpcTasks()},
		{"Engine", "The single-threaded engine, which decides in virtual time: sluice eval, the module of WebAssembly. No peer has such an engine.", engineTasks()},
		{"Programs", "The size of a program with one limiter, linked without symbols (`-ldflags \"-s -w\"`). The root package links the reader of YAML and the hash of traces, " +
			"which a cell of the core does not.", programTasks()},
		{"Refusals", "A refusal beside an admission, both Sluice's: 0.5x is a refusal that costs two admissions. Without an error unless it says so.", refusalTasks()},
	}
}

// highlights are the rows that README shows: a case and a peer.
var highlights = [...][2]string{
	{"limiter allow", "x/time/rate"},
	{"limiter allow", "failsafe-go smooth"},
	{"limiter allow, parallel", "x/time/rate"},
	{"keyed, 100,000 keys, parallel", "throttled"},
	{"keyed, 100,000 keys, parallel", "go-limiter"},
	{"memory, 100,000 keys", "throttled"},
	{"breaker do", "gobreaker Execute"},
	{"bulkhead try", "x/sync/semaphore"},
	{"retry, first attempt", "go-retry"},
	{"pipeline of six", "failsafe-go"},
	{"pipeline of six, fn asks Done()", "failsafe-go"},
	{"pipeline of six, refused", "failsafe-go"},
}
