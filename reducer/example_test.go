package reducer_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// A line of a trace is an object; what happened is a text in it.
func ExampleAppendTrace() {
	line := reducer.AppendTrace(nil, reducer.Entry{
		N: 12, At: clock.Mark(1500 * time.Millisecond), Cell: "limit", Key: "tenant-a", Digest: 0xcbf29ce484222325,
		Action:  reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 7}},
		Effects: reducer.Effects{Answer: reducer.Rejected(reducer.ReasonRate, clock.Mark(2*time.Second))},
	})
	fmt.Print(string(line))
	// Output: {"n":12,"at":"1.5s","cell":"limit","key":"tenant-a","action":"acquire cost=1 id=7","effects":"reject rate retry=2s","digest":"cbf29ce484222325"}
}
