package chaos_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/chaos"
	"github.com/sluice-go/sluice/reducer"
)

// A third of the attempts fails, and a half begins later.
func Example() {
	machine, err := chaos.New(chaos.Config{Fail: reducer.Millionths(333_333), Slow: reducer.Percent(50), By: 200 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	const seed = 7
	for attempt := uint32(1); attempt <= 4; attempt++ {
		x := machine.Draw(seed, attempt)
		fmt.Printf("attempt %d: latency %s, result %q\n", attempt, x.Delay, x.Outcome)
	}
	// Output:
	// attempt 1: latency 0s, result "fail"
	// attempt 2: latency 200ms, result "fail"
	// attempt 3: latency 200ms, result ""
	// attempt 4: latency 200ms, result "fail"
}
