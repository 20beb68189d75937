package limiter_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// One permit a second, and callers that come too early wait for their turn.
func Example() {
	queued, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Wait: 5 * time.Second, Queue: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(queued)
	state := values.Init(0)
	for caller := uint64(1); caller <= 3; caller++ {
		var effects reducer.Effects
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, 0)
		if turn, waits := effects.Answer.Until(); waits {
			fmt.Println(caller, "waits until", turn)
		} else {
			fmt.Println(caller, effects.Answer.Verdict)
		}
	}
	for {
		wake, ok := values.NextWake(state)
		if !ok {
			break
		}
		var effects reducer.Effects
		state, _ = values.Reduce(state, reducer.Action{Kind: reducer.Tick}, wake)
		state, effects = values.Reduce(state, reducer.Action{Kind: reducer.Serve}, wake)
		for _, e := range effects.Others {
			fmt.Println(wake, e.Kind, e.Caller)
		}
	}
	fmt.Println("free again at", clock.Mark(3*time.Second), values.Fresh(state, clock.Mark(3*time.Second)))
	// Output:
	// 1 admit
	// 2 waits until 1s
	// 3 waits until 2s
	// 1s grant 2
	// 2s grant 3
	// free again at 3s true
}

// A caller whose turn comes too late for its deadline does not wait at all.
func Example_deadline() {
	queued, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Wait: 5 * time.Second, Queue: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := reducer.ValuesOf(queued)
	state, _ := values.Reduce(values.Init(0), reducer.Action{Kind: reducer.Acquire, Cost: 1}, 0)
	call := reducer.Action{Kind: reducer.Acquire, Cost: 1}.WithDeadline(clock.Mark(300 * time.Millisecond))
	_, effects := values.Reduce(state, call, 0)
	after, _ := effects.Answer.RetryAfter(0)
	fmt.Println(effects.Answer.Verdict, effects.Answer.Reason, after)
	// Output: reject deadline 700.000001ms
}
