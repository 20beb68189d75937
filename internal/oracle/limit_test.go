package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

func TestLimits(t *testing.T) {
	gate := bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 5})
	shut := bulkheadStep(bulkhead.Config{Concurrent: 1})
	fixed := limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 10 * second})
	leaky := limiter.Config{Algorithm: limiter.LeakyBucket, Count: 3, Period: 3 * second}
	sliding := limitStep(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 4, Period: 10 * second})
	run(t, []script{
		{name: "the interval is rounded up", steps: []pipeline.Step{limitStep(limiter.Config{Count: 3, Period: second, Burst: 1})},
			log: "0s call 1\n 333333333ns call 2\n 333333334ns call 3",
			want: `0s 1 admit 1
				333.333333ms 2 reject limit rate 1ns
				333.333334ms 3 admit 1`},
		{name: "costs", steps: []pipeline.Step{limitStep(rate(2))},
			log: "0s call 1 cost=3\n 0s call 2 cost=0\n 0s call 3 cost=2\n 0s call 4 cost=0\n 0s call 5 cost=2",
			want: `0s 1 reject limit capacity
				0s 2 admit 1
				0s 3 admit 1
				0s 4 admit 1
				0s 5 reject limit rate 2s`},
		{name: "a late refund of a bucket never admits more than the burst", // policy/REFERENCE.md#token-bucket
			steps: []pipeline.Step{limitStep(limiter.Config{Count: 1, Period: 4 * second, Burst: 1}), gate},
			log:   "0s call 9 cost=0\n 0s call 1\n 4s call 2\n 4s cancel 1\n 5s call 3\n",
			want: `0s 9 admit 1
				0s 1 wait 1 bulkhead
				4s 2 wait 1 bulkhead
				4s 1 end cancel 0
				5s 3 reject limit rate 3s`},
		{name: "a refund at the mark of the grant leaves no trace", steps: []pipeline.Step{limitStep(rate(1)), shut},
			log: "0s call 1\n 5s call 2\n 5s done 1 ok\n 5s call 3",
			want: `0s 1 admit 1
				5s 2 reject bulkhead full
				5s 1 end ok 1
				5s 3 admit 1`},
		{name: "a window ends at its end", steps: []pipeline.Step{fixed},
			log: "3s call 1 cost=2\n 12999ms call 2\n 13s call 3\n 13s call 4\n 13s call 5",
			want: `3s 1 admit 1
				12.999s 2 reject limit rate 1ms
				13s 3 admit 1
				13s 4 admit 1
				13s 5 reject limit rate 10s`},
		{name: "the opening of a window is undone", steps: []pipeline.Step{fixed, shut},
			log: "0s call 1 cost=0\n 3s call 2 cost=2\n 4s done 1 ok\n 5s call 3 cost=2\n 14s call 4",
			want: `0s 1 admit 1
				3s 2 reject bulkhead full
				4s 1 end ok 1
				5s 3 admit 1
				14s 4 reject limit rate 1s`},
		{name: "a later refund leaves the window", steps: []pipeline.Step{fixed, gate},
			log: "0s call 1 cost=0\n 3s call 2 cost=2\n 4s cancel 2\n 5s call 3 cost=2\n 5s call 4",
			want: `0s 1 admit 1
				3s 2 wait 1 bulkhead
				4s 2 end cancel 0
				5s 3 wait 1 bulkhead
				5s 4 reject limit rate 8s`},
		{name: "a sliding counter weighs and restarts", steps: []pipeline.Step{sliding},
			log: `0s call 1 cost=4
				10s call 2
				12.5s call 3
				39s call 4 cost=4
				40s call 5
				61s call 6 cost=4
				70.9s call 7`,
			want: `0s 1 admit 1
				10s 2 reject limit rate 2.5s
				12.5s 3 admit 1
				39s 4 admit 1
				40s 5 reject limit rate 2.5s
				1m1s 6 admit 1
				1m10.9s 7 reject limit rate 2.6s`},
		{name: "what is refunded at its mark does not keep the windows going", steps: []pipeline.Step{
			limitStep(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 1, Period: 4 * second}), shut,
		},
			log: "0s call 1\n 10s call 2\n 10s done 1 ok\n 19s call 3\n 19s call 4",
			want: `0s 1 admit 1
				10s 2 reject bulkhead full
				10s 1 end ok 1
				19s 3 admit 1
				19s 4 reject limit rate 8s`},
		{name: "a sliding log counts in [s, s + D)", steps: []pipeline.Step{
			limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: 10 * second}),
		},
			log: "0s call 1\n 4s call 2 cost=2\n 5s call 3\n 5s call 4 cost=2\n 5s call 5 cost=4\n 10s call 6\n 10s call 7",
			want: `0s 1 admit 1
				4s 2 admit 1
				5s 3 reject limit rate 5s
				5s 4 reject limit rate 9s
				5s 5 reject limit capacity
				10s 6 admit 1
				10s 7 reject limit rate 4s`},
		{name: "a refund of what still counts removes it", steps: []pipeline.Step{
			limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: 10 * second}), gate,
		},
			log: "0s call 1 cost=0\n 0s call 2 cost=2\n 4s call 3\n 5s cancel 2\n 5s call 4 cost=2\n 5s call 5\n 14s cancel 3\n 14s call 6\n 14s call 7",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				4s 3 wait 1 bulkhead
				5s 2 end cancel 0
				5s 4 wait 1 bulkhead
				5s 5 reject limit rate 9s
				14s 3 end cancel 0
				14s 6 wait 1 bulkhead
				14s 7 reject limit rate 1s`},
		{name: "a leaky bucket spaces departures by the cost of the one before", steps: []pipeline.Step{limitStep(leaky)},
			log: "0s call 1 cost=2\n 0s call 2 cost=3\n 0s call 3\n 2s call 4\n 2s call 5 cost=4\n 3s call 6\n 9s call 7 cost=3",
			want: `0s 1 admit 1
				0s 2 reject limit rate 2s
				0s 3 reject limit rate 2s
				2s 4 admit 1
				2s 5 reject limit capacity
				3s 6 admit 1
				9s 7 admit 1`},
		{name: "a refund of the last departure", steps: []pipeline.Step{limitStep(leaky), gate},
			log: "0s call 1 cost=0\n 0s call 2 cost=3\n 1s cancel 2\n 1s call 3 cost=2\n 3s call 4 cost=2\n 4s cancel 3\n 4s call 5",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				1s 2 end cancel 0
				1s 3 wait 1 bulkhead
				3s 4 wait 1 bulkhead
				4s 3 end cancel 0
				4s 5 reject limit rate 1s`},
		{name: "a refund at the mark of a departure", steps: []pipeline.Step{limitStep(leaky), shut},
			log: "0s call 1 cost=0\n 1s call 2 cost=2\n 1s call 3\n 1s done 1 ok\n 1s call 4",
			want: `0s 1 admit 1
				1s 2 reject bulkhead full
				1s 3 reject bulkhead full
				1s 1 end ok 1
				1s 4 admit 1`},
		{name: "a refund moves the waiters of a leaky bucket up", steps: []pipeline.Step{
			limitStep(limiter.Config{Algorithm: limiter.LeakyBucket, Count: 3, Period: 3 * second, Wait: 9 * second, Queue: 3}), gate,
		},
			log: "0s call 1 cost=0\n 0s call 2 cost=3\n 0s call 3\n 0s call 4\n 1s cancel 2\n 3s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				0s 3 wait 1 limit 3s
				0s 4 wait 1 limit 4s
				1s 2 end cancel 0
				1s 3 wait 1 bulkhead
				2s 4 wait 1 bulkhead`},
		{name: "a refund from the window before", steps: []pipeline.Step{sliding, gate},
			log: "0s call 1 cost=0\n 0s call 2 cost=2\n 0s call 3 cost=2\n 10s call 4\n 10s cancel 2\n 10s call 5 cost=2",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				0s 3 wait 1 bulkhead
				10s 4 reject limit rate 2.5s
				10s 2 end cancel 0
				10s 5 wait 1 bulkhead`},
	})
}

func TestQueues(t *testing.T) {
	run(t, []script{
		{name: "newest first", steps: []pipeline.Step{limitStep(queued(1, 5*second, 2, limiter.Newest))},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 0s call 4\n 1s call 5\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit
				0s 3 wait 1 limit
				0s 2 expire limit full
				0s 4 wait 1 limit
				1s 4 admit 1
				1s 5 wait 1 limit
				2s 5 admit 1
				3s 3 admit 1`},
		{name: "a turn at the end of the wait is granted", steps: []pipeline.Step{limitStep(queued(1, second, 2, limiter.Oldest))},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 1s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1s
				0s 3 reject limit wait 1s
				1s 2 admit 1`},
		{name: "a small cost does not overtake a greater one", steps: []pipeline.Step{limitStep(queued(3, 9*second, 2, limiter.Oldest))},
			log: "0s call 1 cost=2\n 0s call 2 cost=3\n 0s call 3\n 0s call 4 cost=0\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 2s
				0s 3 wait 1 limit 3s
				0s 4 admit 1
				2s 2 admit 1
				3s 3 admit 1`},
		{name: "who waits for a limit that charges at the end takes nothing", // policy/REFERENCE.md#charges
			steps: steps(limitStep(limiter.Config{Count: 1, Period: second, Burst: 2, Charge: limiter.ChargeEnd, Wait: 3 * second / 2, Queue: 9})),
			log: `0s call 1 cost=2
				0s done 1 ok
				0s call 2
				0s call 3 cost=2
				0.5s call 4 cost=2
				0.5s call 5
				9s tick`,
			want: `0s 1 admit 1
				0s 1 end ok 1
				0s 2 wait 1 limit 1s
				0s 3 reject limit wait 500ms
				500ms 4 wait 1 limit 2s
				500ms 5 wait 1 limit 2s
				1s 2 admit 1
				2s 4 admit 1
				2s 5 admit 1`},
		{name: "a charge at the mark of the newest admission of a full log leaves that admission to be refunded",
			steps: steps(limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 2, Period: 8 * second, Charge: limiter.ChargeSettle})),
			log: `6s call 1
				8s call 2
				8s done 1 throttle used=2
				8s done 2 throttle used=0
				8s call 3`,
			want: `6s 1 admit 1
				8s 2 admit 1
				8s 1 end throttle 1
				8s 2 end throttle 1
				8s 3 reject limit rate 6s`},
		{name: "newest, one turn after another", steps: []pipeline.Step{limitStep(queued(1, 2*second, 3, limiter.Newest))},
			log: "0s call 1\n 0.5s call 2\n 1s call 3\n 2s call 4\n 9s tick",
			want: `0s 1 admit 1
				500ms 2 wait 1 limit
				1s 2 admit 1
				1s 3 wait 1 limit
				2s 3 admit 1
				2s 4 wait 1 limit
				3s 4 admit 1`},
		{name: "a place frees too late for a waiter that expires", steps: []pipeline.Step{bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 2, Wait: 3 * second})},
			log: "0s call 1\n 0s call 2\n 1s call 3\n 3s done 1 ok",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				1s 3 wait 1 bulkhead
				3s 2 expire bulkhead wait
				3s 1 end ok 1
				3s 3 admit 1`},
		{name: "newest takes a free place and puts out", steps: []pipeline.Step{bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1, Order: limiter.Newest})},
			log: "0s call 1 cost=0\n 0s call 2\n 1s call 3\n 2s done 1 ok", marked: true,
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				1s 2 expire bulkhead full fallback
				1s 3 wait 1 bulkhead
				2s 1 end ok 1
				2s 3 admit 1`},
		{name: "leases", steps: []pipeline.Step{bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1, Lease: 2 * second})},
			log: "0s call 1\n 1s renew 1\n 1s call 2\n 1s renew 2\n 4s renew 1\n 4s done 1 ok\n 4s call 3\n 9s tick",
			want: `0s 1 admit 1
				1s 2 wait 1 bulkhead
				1s 2 stale
				3s 1 lapse 1 bulkhead
				3s 2 admit 1
				4s 1 end ok 1
				4s 3 wait 1 bulkhead
				5s 2 lapse 1 bulkhead
				5s 3 admit 1
				7s 3 lapse 1 bulkhead`},
		{name: "the granted call continues at once", // the outer queue is served again before the inner one
			steps: []pipeline.Step{
				limitStep(queued(2, 9*second, 5, limiter.Oldest)),
				bulkheadStep(bulkhead.Config{Concurrent: 2, Queue: 1}),
			},
			log: "0s call 1\n 0s call 2\n 0s call 3 cost=2\n 0s call 4\n 2s done 1 ok\n 3s done 2 ok",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 wait 1 limit 2s
				0s 4 wait 1 limit 3s
				2s 3 wait 1 bulkhead
				2s 1 end ok 1
				2s 3 admit 1
				3s 4 wait 1 bulkhead
				3s 2 end ok 1
				3s 4 admit 1`},
		{name: "a cell for each value", steps: []pipeline.Step{per(limitStep(rate(1)), "key", "header:x")},
			log: "0s call 1 key=a\n 0s call 2 key=a x=b\n 0s call 3 x=b\n 0s call 4 key=a x=\n 0s call 5",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 4 reject limit rate 1s
				0s 5 admit 1`},
	})
}
