package timeout_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/timeout"
)

// Ten seconds, and a warning after eight.
func Example() {
	machine, err := timeout.New(timeout.Config{After: 10 * time.Second, Soft: 8 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	start := clock.Mark(5 * time.Second)
	fmt.Println("warn at", machine.Warn(start), "cut at", machine.Deadline(start))
	// Output: warn at 13s cut at 15s
}
