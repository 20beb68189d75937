package bulkhead_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

// One at a time, and one may wait.
func Example() {
	machine, err := bulkhead.New(bulkhead.Config{Concurrent: 1, Queue: 1, Wait: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	var out reducer.Out
	var state bulkhead.State
	machine.Begin(&state, 0)
	ask := func(caller uint64) reducer.Answer {
		answer := machine.Step(&state, reducer.Action{Kind: reducer.Acquire, Permit: reducer.Permit{ID: caller}}, 0, &out)
		fmt.Println("call", caller, answer.Verdict)
		return answer
	}
	first := ask(1)
	ask(2)
	ask(3)

	now := clock.Mark(2 * time.Second)
	machine.Step(&state, reducer.Action{Kind: reducer.Release, Permit: first.Permit}, now, &out)
	machine.Step(&state, reducer.Action{Kind: reducer.Serve}, now, &out)
	for _, e := range out {
		fmt.Println(now, e.Kind, "call", e.Caller)
	}
	again := machine.Step(&state, reducer.Action{Kind: reducer.Release, Permit: first.Permit}, now, &out)
	fmt.Println("released twice:", again.Verdict)
	// Output:
	// call 1 admit
	// call 2 wait
	// call 3 reject
	// 2s grant call 2
	// released twice: stale
}
