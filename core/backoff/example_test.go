package backoff_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
)

// Doubling from half a second, cut at five, with full jitter: the random word of
// a seed is always the same.
func Example() {
	machine, err := backoff.New(backoff.Config{
		Kind: backoff.Exponential, Base: 500 * time.Millisecond, Factor: 2 * backoff.FactorOne, Max: 5 * time.Second, Jitter: backoff.Full,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for attempt := uint32(1); attempt <= 5; attempt++ {
		word := backoff.Word(uint64(attempt))
		fmt.Println(machine.Nominal(attempt), machine.Delay(attempt, 0, word).Round(time.Millisecond))
	}
	// Output:
	// 500ms 283ms
	// 1s 591ms
	// 2s 227ms
	// 4s 1.726s
	// 5s 1.934s
}
