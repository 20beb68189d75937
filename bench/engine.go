package main

import (
	"context"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// The policies of the cases: a call of fullSteps is refused, one of queuedSteps
// waits, and keyedSteps has a cell for each key.
const (
	fiveSteps = `
steps:
  - timeout: 30s
  - retry: {attempts: 3, backoff: {exponential: 100ms, max: 10s}, jitter: none}
  - breaker: {window: {calls: 100}}
  - limit: {rate: 1000000000/1s}
  - bulkhead: 100
`
	fullSteps   = "steps: [{timeout: 30s}, {bulkhead: 100}, {limit: 1/24h}]"
	queuedSteps = "steps: [{timeout: 30s}, {bulkhead: {concurrent: 1, queue: 10}}, {timeout: 10s}]"
	keyedSteps  = "steps: [{limit: {rate: 1000000000/1s, per: key}}]"
)

func engineTasks() []task {
	return []task{
		// The target is the cost of the engine before hedging was added.
		{name: "engine, call of five steps", allocs: 0, most: 120, sluice: engine(fiveSteps, engineCall)},
		{name: "engine, call with a second attempt", allocs: 0, sluice: engine(fiveSteps, engineRetried)},
		{name: "engine, refused call", allocs: 0, sluice: engine(fullSteps, engineRefused)},
		{name: "engine, two calls for one place", allocs: 0, sluice: engine(queuedSteps, engineQueued)},
		{name: "engine, call of one of 10,000 keys", allocs: 0, sluice: engine(keyedSteps, engineKeyed)},
	}
}

// engine makes the single-threaded engine of a policy. Each use comes a second after
// the one before it.
func engine(steps string, use func(*drive.Driver)) contender {
	return repeated(func(context.Context) func() {
		d := drive.New(must(pipeline.Compile(must(policy.ParseOne("bench.yaml", []byte(steps))).Policy)), 0)
		engineCall(d) // takes the only permit where the case measures a refusal
		return func() {
			d.Advance(d.Now().Add(time.Second))
			d.Decisions = d.Decisions[:0]
			use(d)
		}
	})
}

func decided(d *drive.Driver, n int) {
	if len(d.Decisions) != n {
		panic("the engine decided something else")
	}
}

func engineCall(d *drive.Driver) {
	h := d.Begin(&drive.Request{Cost: 1, Deadline: -1})
	d.Done(h, drive.Result{Outcome: reducer.OK})
	decided(d, 2)
}

func engineRetried(d *drive.Driver) {
	h := d.Begin(&drive.Request{Cost: 1, Deadline: -1})
	d.Done(h, drive.Result{Outcome: reducer.Throttle}) // which is no vote
	d.Advance(d.Now().Add(100 * time.Millisecond))
	d.Done(h, drive.Result{Outcome: reducer.OK})
	decided(d, 4)
}

func engineRefused(d *drive.Driver) {
	d.Begin(&drive.Request{Cost: 1, Deadline: -1})
	decided(d, 1)
}

func engineQueued(d *drive.Driver) {
	first := d.Begin(&drive.Request{Cost: 1, Deadline: -1})
	second := d.Begin(&drive.Request{Cost: 1, Deadline: -1})
	d.Done(first, drive.Result{Outcome: reducer.OK})
	d.Done(second, drive.Result{Outcome: reducer.OK})
	decided(d, 5)
}

func engineKeyed(d *drive.Driver) {
	key := uint32(uint64(d.Now()/clock.Mark(time.Second))*7919%10_000) + 1
	h := d.Begin(&drive.Request{Cost: 1, Deadline: -1, Keys: [pipeline.MaxSteps]uint32{key}})
	d.Done(h, drive.Result{Outcome: reducer.OK})
	decided(d, 2)
}
