package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// TestHopeless has waits whose turn comes too late for a deadline.
func TestHopeless(t *testing.T) {
	long := limitStep(queued(1, 9*second, 2, limiter.Oldest))
	run(t, []script{
		{name: "the earliest deadline above, of the call or of a step",
			steps: []pipeline.Step{timeoutStep(5 * second), timeoutStep(3 * second), long, timeoutStep(second)},
			log:   "0s call 1 cost=1\n 0s call 2 cost=1\n 0s call 3 deadline=2s\n 0s call 4 deadline=2001ms\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1s
				0s 3 reject limit deadline 1ns
				0s 4 wait 1 limit 2s
				1s 1 timeout 1 timeout-3
				1s 1 end timeout 1
				1s 2 admit 1
				2s 2 timeout 1 timeout-3
				2s 2 end timeout 1
				2s 4 admit 1
				2.001s 4 timeout 1 deadline
				2.001s 4 end timeout 1`},
		{name: "not one in shadow", steps: []pipeline.Step{shadow(timeoutStep(second)), long},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 1s done 1 ok",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1s
				0s 3 wait 1 limit 2s
				1s 1 timeout 1 timeout shadow
				1s 2 timeout 1 timeout shadow
				1s 3 timeout 1 timeout shadow
				1s 2 admit 1
				1s 1 end ok 1`},
		{name: "full, then wait, then deadline", steps: []pipeline.Step{limitStep(queued(1, 2*second, 2, limiter.Oldest))},
			log: "0s call 1\n 0s call 2\n 0s call 3 cost=1 deadline=1s\n 0s call 4\n 0s call 5 deadline=1s\n 1s call 6 deadline=1500ms",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1s
				0s 3 reject limit deadline 1.000000001s
				0s 4 wait 1 limit 2s
				0s 5 reject limit full 2.000000001s
				1s 2 admit 1
				1s 6 reject limit deadline 500.000001ms`},
		{name: "the retry-after satisfies wait and deadline", steps: []pipeline.Step{limitStep(limiter.Config{
			Algorithm: limiter.FixedWindow, Count: 1, Period: 10 * second, Wait: 4 * second, Queue: 9,
		})},
			log: "0s call 1\n 0s call 2 deadline=3s\n 0s call 3 deadline=5s\n 0s call 4 deadline=0s",
			want: `0s 1 admit 1
				0s 2 reject limit wait 7.000000001s
				0s 3 reject limit wait 6s
				0s 4 reject limit wait 10s`},
		{name: "without wait the reason is rate", steps: []pipeline.Step{limitStep(rate(1))},
			log: "0s call 1\n 0s call 2 deadline=500ms",
			want: `0s 1 admit 1
				0s 2 reject limit rate 1s`},
		{name: "a turn now needs no time", steps: []pipeline.Step{long},
			log: "0s call 1 deadline=0s",
			want: `0s 1 admit 1
				0s 1 timeout 1 deadline
				0s 1 end timeout 1`},
		{name: "newest enters, and puts out, when it passes both checks",
			steps: []pipeline.Step{limitStep(queued(1, 3*second, 1, limiter.Newest))},
			log:   "0s call 1\n 0s call 2\n 0s call 3 deadline=1s\n 0s call 4 deadline=1001ms\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit
				0s 3 reject limit deadline 1ns
				0s 2 expire limit full
				0s 4 wait 1 limit
				1s 4 admit 1
				1.001s 4 timeout 1 deadline
				1.001s 4 end timeout 1`},
		{name: "in shadow", steps: []pipeline.Step{timeoutStep(second), shadow(long)},
			log: "0s call 1\n 0.5s call 2\n 0.5s call 3\n 0.5s call 4",
			want: `0s 1 admit 1
				500ms 2 wait 1 limit 1s shadow
				500ms 2 admit 1
				500ms 3 reject limit deadline 500.000001ms shadow
				500ms 3 admit 1
				500ms 4 reject limit deadline 500.000001ms shadow
				500ms 4 admit 1`},
		{name: "inside a retry it ends the call", steps: []pipeline.Step{retryStep(3, second), timeoutStep(second), long},
			log: "0s call 1\n 0s done 1 fail\n 0.5s call 2\n 1s call 3\n 2s tick",
			want: `0s 1 admit 1
				0s 1 retry 1 fail 1s
				500ms 2 wait 1 limit 1s
				1s 2 admit 1
				1s 1 reject limit deadline 1ns
				1s 3 reject limit deadline 1ns
				1.5s 2 timeout 1 timeout
				1.5s 2 retry 1 timeout 2.5s`},
		{name: "above a retry what is inside does not count", steps: []pipeline.Step{long, retryStep(3, second), timeoutStep(second)},
			log: "0s call 1\n 0s call 2\n 0s done 1 ok\n 1s done 2 ok",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1s
				0s 1 end ok 1
				1s 2 admit 1
				1s 2 end ok 1`},
		{name: "a bulkhead does not know turns",
			steps: []pipeline.Step{timeoutStep(second), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1, Wait: 5 * second})},
			log:   "0s call 1\n 0s call 2",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead`},
	})
}
