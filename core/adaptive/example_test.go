package adaptive_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/reducer"
)

// A dependency that turns slow gets fewer calls at once.
func Example() {
	machine, err := adaptive.New(adaptive.Config{Initial: 4, Over: time.Second}.WithDefaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	var out reducer.Out
	var state adaptive.State
	machine.Begin(&state, 0)
	took := 200 * time.Millisecond
	for i := range 8 {
		if i == 3 {
			took = 3 * time.Second
		}
		begun := clock.Mark(0).Add(time.Duration(i) * 10 * time.Second)
		var calls []reducer.Permit
		for {
			answer := machine.Step(&state, reducer.Action{Kind: reducer.Acquire}, begun, &out)
			if answer.Verdict == reducer.Reject {
				break
			}
			calls = append(calls, answer.Permit)
		}
		for _, permit := range calls {
			machine.Step(&state, reducer.Action{Kind: reducer.Record, Outcome: reducer.OK, Permit: permit}, begun.Add(took), &out)
		}
		fmt.Printf("%d calls of %v: %s\n", len(calls), took, machine.AppendText(nil, &state, begun.Add(took)))
	}
	// Output:
	// 4 calls of 200ms: held 0/4 round 4+0+0
	// 4 calls of 200ms: held 0/4 round 8+0+0
	// 4 calls of 200ms: held 0/6 round 2+0+0
	// 6 calls of 3s: held 0/6 round 2+6+0
	// 6 calls of 3s: held 0/3
	// 3 calls of 3s: held 0/3 round 0+3+0
	// 3 calls of 3s: held 0/3 round 0+6+0
	// 3 calls of 3s: held 0/3 round 0+9+0
}
