package tokenbucket_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Two permits at once, then one a second.
func Example() {
	bucket, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Burst: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var now clock.Virtual
	values := reducer.ValuesOf(bucket)
	state := values.Init(now.Now())
	for range 5 {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1}, now.Now())
		if after, refused := effects.Answer.RetryAfter(now.Now()); refused {
			fmt.Println(now.Now(), "refused, retry after", after)
		} else {
			fmt.Println(now.Now(), "admitted")
		}
		now.Advance(400 * time.Millisecond)
	}
	// Output:
	// 0s admitted
	// 400ms admitted
	// 800ms refused, retry after 200ms
	// 1.2s admitted
	// 1.6s refused, retry after 400ms
}

// Where nothing is ever refunded, one word decides: the value of an atomic.
func ExampleMachine_Take() {
	bucket, err := tokenbucket.New(tokenbucket.Config{Count: 100, Period: time.Second, Burst: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	word := bucket.Init(0).TAT
	word, first := bucket.Take(word, 1, 0)
	word, second := bucket.Take(word, 1, clock.Mark(9*time.Millisecond))
	_, third := bucket.Take(word, 1, clock.Mark(10*time.Millisecond))
	fmt.Println(first, second, third)
	// Output: true false true
}
