package pipeline_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// A call through two steps; the example plays its driver.
func Example() {
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{
		{Config: timeout.Config{After: 10 * time.Second}},
		{Config: retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Second}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var call pipeline.Call
	effect := plan.Begin(&call, 1, clock.Never, 0)
	for i := int(effect.Step); i < plan.Len(); i++ {
		plan.Skip(&call.Attempt, i, 0)
	}
	effect = plan.Advance(&call, &pipeline.Event{Kind: pipeline.Entered}, 0)
	fmt.Println("start:", effect.Do == pipeline.Start, "to be cut at", plan.EndsAt(&call))

	now := clock.Mark(3 * time.Second)
	effect = plan.Advance(&call, &pipeline.Event{Kind: pipeline.Finished, Outcome: reducer.Fail}, now)
	fmt.Println("consult:", effect.Do == pipeline.Consult)
	effect = plan.Advance(&call, &pipeline.Event{Kind: pipeline.Consulted, Granted: true}, now)
	fmt.Println("sleep:", effect.Do == pipeline.Sleep, "until", effect.At)
	// Output:
	// start: true to be cut at 10s
	// consult: true
	// sleep: true until 4s
}
