package retry_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// A second attempt one second after the first one, if there is time for it.
func Example() {
	machine, err := retry.New(retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Second}})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := retry.State{Attempt: 1}
	end := retry.End{Outcome: reducer.Fail, Deadline: clock.Mark(10 * time.Second)}
	_, verdict := machine.Next(state, end, clock.Mark(3*time.Second))
	fmt.Println(verdict.Again, verdict.Until)

	_, verdict = machine.Next(state, end, clock.Mark(9*time.Second))
	fmt.Println(verdict.Again, verdict.Reason)

	state.Attempt = 2
	_, verdict = machine.Next(state, end, clock.Mark(3*time.Second))
	fmt.Println(verdict.Again, verdict.Reason)
	// Output:
	// true 4s
	// false deadline
	// false attempts
}
