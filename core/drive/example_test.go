package drive_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// One call at a time, each for five seconds at most.
func Example() {
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{
		{Config: bulkhead.Config{Concurrent: 1, Queue: 5}},
		{Config: timeout.Config{After: 5 * time.Second}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	driver := drive.New(plan, 0)
	driver.Begin(&drive.Request{Cost: 1, Deadline: -1})
	second := driver.Begin(&drive.Request{Cost: 1, Deadline: -1})
	driver.Advance(clock.Mark(7 * time.Second))
	driver.Done(second, drive.Result{Outcome: reducer.OK})
	for _, d := range driver.Decisions {
		switch d.Kind {
		case decision.End:
			fmt.Println(d.At, "call", d.Call.Slot(), d.Kind, d.Outcome)
		case decision.Admit:
			fmt.Println(d.At, "call", d.Call.Slot(), d.Kind)
		default:
			fmt.Println(d.At, "call", d.Call.Slot(), d.Kind, d.Step)
		}
	}
	// Output:
	// 0s call 0 admit
	// 0s call 1 wait bulkhead
	// 5s call 0 timeout timeout
	// 5s call 0 end timeout
	// 5s call 1 admit
	// 7s call 1 end ok
}
