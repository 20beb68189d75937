package reducer_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// A trace recorded under one configuration says what another one would have done.
func ExampleReplay() {
	recorded, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Burst: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := reducer.ValuesOf(recorded).Init(0)
	var trace []byte
	for n := range uint64(2) {
		e := reducer.Trace(recorded, &state, reducer.Action{Kind: reducer.Acquire, Cost: 1}, 0)
		e.N, e.Cell, e.Key = n, "limit", "tenant-a"
		trace = reducer.AppendTrace(trace, e)
	}
	entries, err := reducer.ReadTrace(string(trace))
	if err != nil {
		fmt.Println(err)
		return
	}
	smaller, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Burst: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = reducer.Replay(recorded, reducer.ValuesOf(recorded).Init(0), entries)
	fmt.Println("the same:", err)
	_, err = reducer.Replay(smaller, reducer.ValuesOf(smaller).Init(0), entries)
	var difference *reducer.Difference
	if errors.As(err, &difference) {
		fmt.Printf("step %d was: %s\n", difference.Entry.N, difference.Recorded)
		fmt.Printf("with a burst of 1: %s\n", difference.Replayed)
	}
	// Output:
	// the same: <nil>
	// step 1 was: admit gen=1 id=2000000000 changed
	// with a burst of 1: reject rate retry=1s
}

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
