package limiter_test

import (
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// One permit a second, and whoever comes too early waits its turn.
func Example() {
	bucket, err := tokenbucket.New(tokenbucket.Config{Count: 1, Period: time.Second, Burst: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	queued, err := limiter.New[tokenbucket.State](bucket, limiter.Waiting{Wait: 5 * time.Second, Queue: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	state := queued.Init(0)
	for caller := uint64(1); caller <= 3; caller++ {
		var effects reducer.Effects
		state, effects = queued.Reduce(state, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, 0)
		if turn, waits := effects.Answer.Until(); waits {
			fmt.Println(caller, "waits until", turn)
		} else {
			fmt.Println(caller, effects.Answer.Verdict)
		}
	}
	for {
		wake, ok := queued.NextWake(state)
		if !ok {
			break
		}
		var effects reducer.Effects
		state, _ = queued.Reduce(state, reducer.Action{Kind: reducer.Tick}, wake)
		state, effects = queued.Reduce(state, reducer.Action{Kind: reducer.Serve}, wake)
		for _, e := range effects.Others {
			fmt.Println(wake, e.Kind, e.Caller)
		}
	}
	fmt.Println("free again at", clock.Mark(3*time.Second), queued.Fresh(state, clock.Mark(3*time.Second)))
	// Output:
	// 1 admit
	// 2 waits until 1s
	// 3 waits until 2s
	// 1s grant 2
	// 2s grant 3
	// free again at 3s true
}
