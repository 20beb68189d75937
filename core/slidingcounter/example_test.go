package slidingcounter_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// About ten permits in any ten seconds: the previous window fades.
func Example() {
	counter, err := limiter.New(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 10, Period: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(counter)
	state, _ := values.Reduce(values.Init(0), reducer.Action{Kind: reducer.Acquire, Cost: 10}, 0)
	for _, now := range []clock.Mark{clock.Mark(10 * time.Second), clock.Mark(12500 * time.Millisecond), clock.Mark(20 * time.Second)} {
		_, effects := values.Reduce(state, reducer.Action{Kind: reducer.Peek, Cost: 1}, now)
		fmt.Println(now, "free", effects.Answer.Free)
	}
	// Output:
	// 10s free 0
	// 12.5s free 2
	// 20s free 10
}
