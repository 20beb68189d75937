package fixedwindow_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Two permits for each ten seconds, from the first one on.
func Example() {
	window, err := limiter.New(limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := clock.Mark(3 * time.Second)
	state := window.Init(now)
	for range 4 {
		var effects reducer.Effects
		state, effects = window.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now)
		fmt.Printf("%v %v, %s\n", now, effects.Answer.Verdict, window.AppendText(nil, state, now))
		now = now.Add(5 * time.Second)
	}
	// Output:
	// 3s admit, used 1/2 until 13s
	// 8s admit, used 2/2 until 13s
	// 13s admit, used 1/2 until 23s
	// 18s admit, used 2/2 until 23s
}
