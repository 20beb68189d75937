package budget_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/reducer"
)

// One retry for each five first attempts.
func Example() {
	machine, err := budget.New(budget.Config{Ratio: reducer.Percent(20), Window: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(machine)
	state := values.Init(0)
	for range 5 {
		state, _ = values.Reduce(state, reducer.Action{Kind: reducer.Record}, 0)
	}
	for range 2 {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire}, 0)
		fmt.Println(effects.Answer.Verdict)
	}
	// Output:
	// admit
	// reject
}
