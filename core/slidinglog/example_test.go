package slidinglog_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Ten permits in any ten seconds, exactly: each is free again ten seconds after it
// was taken.
func Example() {
	log, err := limiter.New(limiter.Config{Algorithm: limiter.SlidingLog, Count: 10, Period: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(log)
	state := values.Init(0)
	for _, now := range []clock.Mark{0, clock.Mark(6 * time.Second)} {
		state, _ = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 5}, now)
	}
	for _, now := range []clock.Mark{clock.Mark(6 * time.Second), clock.Mark(10 * time.Second), clock.Mark(16 * time.Second)} {
		_, effects := values.Reduce(state, reducer.Action{Kind: reducer.Peek, Cost: 6}, now)
		if after, refused := effects.Answer.RetryAfter(now); refused {
			fmt.Println(now, "free", effects.Answer.Free, "and six after", after)
		} else {
			fmt.Println(now, "free", effects.Answer.Free)
		}
	}
	// Output:
	// 6s free 0 and six after 10s
	// 10s free 5 and six after 6s
	// 16s free 10
}
