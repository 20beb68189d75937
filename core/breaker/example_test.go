package breaker_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// Three failures in a row open it for ten seconds; then one probe closes it.
func Example() {
	machine, err := breaker.New(breaker.Config{
		Window: breaker.Consecutive,
		Count:  3,
		Open:   backoff.Config{Kind: backoff.Constant, Base: 10 * time.Second},
		Probes: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var now clock.Virtual
	var state breaker.State
	machine.Begin(&state, now.Now())
	call := func(outcome reducer.Outcome) {
		var out reducer.Out
		answer := machine.Step(&state, reducer.Action{Kind: reducer.Acquire}, now.Now(), &out)
		if answer.Verdict == reducer.Admit {
			machine.Step(&state, reducer.Action{Kind: reducer.Record, Outcome: outcome, Permit: answer.Permit}, now.Now(), &out)
		}
		fmt.Printf("%v %v, %s\n", now.Now(), answer.Verdict, machine.AppendText(nil, &state, now.Now()))
		now.Advance(2500 * time.Millisecond)
	}
	call(reducer.Fail)
	call(reducer.Timeout)
	call(reducer.Fail)
	call(reducer.OK)
	now.Advance(5 * time.Second)
	call(reducer.OK)
	// Output:
	// 0s admit, closed failed 1 in a row
	// 2.5s admit, closed failed 2 in a row
	// 5s admit, open until 15s
	// 7.5s reject, open until 15s
	// 15s admit, closed failed 0 in a row
}
