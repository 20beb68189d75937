package leakybucket_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Ten a second, and no two of them closer than a tenth: three calls that come at
// once depart one after another.
func Example() {
	bucket, err := limiter.New(limiter.Config{Algorithm: limiter.LeakyBucket, Count: 10, Period: time.Second, Wait: 150 * time.Millisecond, Queue: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(bucket)
	state := values.Init(0)
	for caller := range uint64(3) {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, 0)
		if turn, waits := effects.Answer.Until(); waits {
			fmt.Println("departs at", turn)
		} else if at, refused := effects.Answer.RetryAt(); refused {
			fmt.Println("would wait too long, retry at", at)
		} else {
			fmt.Println("departs at once")
		}
	}
	if at, ok := values.NextWake(state); ok {
		_, effects := values.Reduce(state, reducer.Action{Kind: reducer.Serve}, at)
		fmt.Println(at, effects.Others[0].Kind)
	}
	// Output:
	// departs at once
	// departs at 100ms
	// would wait too long, retry at 50ms
	// 100ms grant
}
