package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

func TestHedgeEnds(t *testing.T) {
	quick := hedgeStep(hedge.Config{After: second, Max: 2})
	places := func(n, queue uint32) pipeline.Step {
		return bulkheadStep(bulkhead.Config{Concurrent: n, Queue: queue, Wait: 3 * second})
	}
	run(t, []script{
		{name: "the winner's vote, and none of the losers", steps: []pipeline.Step{quick, breakerStep(one(5*second, 1))},
			log: "0s call 1\n 1.5s done 1 ignore attempt=2\n 2s call 2\n 3.5s done 2 ok\n 3.5s call 3\n 3.5s done 3 fail\n 4s call 4",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 cancel 1
				1.5s 1 end ignore 2 2
				2s 2 admit 1
				3s 2 hedge 2 hedge
				3s 2 admit 2
				3.5s 2 cancel 2
				3.5s 2 end ok 2 1
				3.5s 3 admit 1
				3.5s 3 end fail 1
				4s 4 reject breaker open 4.5s`},
		{name: "a failure votes at once, and the next attempt is dropped", steps: []pipeline.Step{quick, breakerStep(one(9*second, 1))},
			log: "0s call 1\n 1.5s done 1 fail\n 3s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 1 fail
				2s 1 hedge 3 hedge
				2s 1 drop 3 breaker open
				3s 1 end ok 2 2`},
		{name: "a loser that waits gets its permits back, one that ran does not",
			steps: []pipeline.Step{quick, limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: 100 * second}), places(2, 2)},
			log:   "0s call 1\n 2.5s done 1 ok\n 3s call 2\n 3s done 2 ok\n 3s call 3",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				2s 1 hedge 3 hedge
				2s 1 wait 3 bulkhead
				2.5s 1 cancel 2
				2.5s 1 cancel 3
				2.5s 1 end ok 2 1
				3s 2 admit 1
				3s 2 end ok 1 1
				3s 3 reject limit rate 1m37s`},
		{name: "a breaker above sees the outcome of the round from its first admission",
			steps: []pipeline.Step{breakerStep(slowOnly()), quick},
			log:   "0s call 1\n 1.1s done 1 fail\n 3.5s done 1 ok\n 4s call 2",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.1s 1 failed 1 fail
				2s 1 hedge 3 hedge
				2s 1 admit 3
				3.5s 1 cancel 3
				3.5s 1 end ok 3 2
				4s 2 reject breaker open 8.5s`},
		{name: "a breaker between retry and hedge has the time of the round alone",
			steps: []pipeline.Step{retryStep(2, second), breakerStep(slowOnly()), hedgeStep(hedge.Config{After: 9 * second})},
			log:   "0s call 1\n 0s done 1 throttle after=3s\n 5s done 1 ok\n 5s call 2\n 8s done 2 ok\n 8s call 3\n 11001ms done 3 ok\n 12s call 4",
			want: `0s 1 admit 1
				0s 1 retry 1 throttle 3s
				3s 1 admit 2
				5s 1 end ok 2 2
				5s 2 admit 1
				8s 2 end ok 1 1
				8s 3 admit 1
				11.001s 3 end ok 1 1
				12s 4 reject breaker open 8.001s`},
		{name: "a round that does not run gets its permits back",
			steps: []pipeline.Step{
				retryStep(2, second), limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 2, Period: 50 * second}), quick, places(1, 1),
			},
			log: "0s call 1\n 0s done 1 fail\n 0.5s call 2 cost=0\n 1.1s cancel 1\n 1.1s call 3\n 1.1s call 4",
			want: `0s 1 admit 1
				0s 1 retry 1 fail 1s
				500ms 2 admit 1
				1s 1 wait 2 bulkhead
				1.1s 1 end cancel 1
				1.1s 3 wait 1 bulkhead
				1.1s 4 reject limit rate 48.9s`},
		{name: "the last failure decides, with the greatest retry-after of the round",
			steps: []pipeline.Step{retryStep(2, second), breakerStep(one(5*second, 1)), quick},
			log:   "0s call 1\n 1.5s done 1 fail after=3s\n 1.6s done 1 throttle after=2s\n 5s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 1 fail
				1.6s 1 retry 2 throttle 4.6s
				4.6s 1 admit 3
				5s 1 end ok 3 3`},
		{name: "pushback if any said so", steps: []pipeline.Step{retryStep(2, second), quick}, marked: true,
			log: "0s call 1\n 1.5s done 1 fail after=-1ns attempt=2\n 1.6s done 1 fail after=2s",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 2 fail
				1.6s 1 end fail 2 pushback fallback`},
		{name: "retry-after and pushback are of one round", steps: []pipeline.Step{retryStep(3, second), quick},
			log: "0s call 1\n 0.5s done 1 fail after=3s\n 4s done 1 fail\n 5s done 1 ok",
			want: `0s 1 admit 1
				500ms 1 retry 1 fail 3.5s
				3.5s 1 admit 2
				4s 1 retry 2 fail 5s
				5s 1 admit 3
				5s 1 end ok 3 3`},
		{name: "expired while another lives, and alone", steps: []pipeline.Step{quick, places(1, 2)},
			log: "0s call 1\n 2s call 2\n 4.5s done 1 ok\n 5s tick",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				2s 2 wait 1 bulkhead
				4s 1 drop 2 bulkhead wait
				4.5s 1 end ok 1 1
				4.5s 2 admit 1`},
		{name: "the last one expires", steps: []pipeline.Step{retryStep(3, second), quick, places(1, 2)}, marked: true,
			log: "0s call 9 cost=0\n 0.2s cancel 9\n 0.2s call 1\n 0.3s call 2\n 1.3s done 1 fail\n 5s tick",
			want: `0s 9 admit 1
				200ms 9 end cancel 1
				200ms 1 admit 1
				300ms 2 wait 1 bulkhead
				1.2s 1 hedge 2 hedge
				1.2s 1 wait 2 bulkhead
				1.3s 1 failed 1 fail
				1.3s 2 admit 1
				2.3s 2 hedge 2 hedge
				2.3s 2 wait 2 bulkhead
				4.2s 1 expire bulkhead wait fallback`},
		{name: "done, renew and cancel", steps: []pipeline.Step{quick, bulkheadStep(bulkhead.Config{Concurrent: 3, Lease: 3 * second})},
			log: "0s call 1\n 1.5s done 1 ok attempt=3\n 1.5s renew 1 attempt=9\n 2.5s renew 1 attempt=2\n 9s cancel 1\n 9s done 1 ok attempt=1",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 stale
				1.5s 1 stale
				2s 1 hedge 3 hedge
				2s 1 admit 3
				3s 1 lapse 1 bulkhead
				5s 1 lapse 3 bulkhead
				5.5s 1 lapse 2 bulkhead
				9s 1 end cancel 3
				9s 1 stale`},
		{name: "a lease above is renewed by any attempt, and named by the lowest",
			steps: []pipeline.Step{bulkheadStep(bulkhead.Config{Concurrent: 1, Lease: 3 * second}), quick},
			log:   "0s call 1\n 1.5s renew 1 attempt=2\n 2s done 1 fail attempt=1\n 9s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				2s 1 hedge 3 hedge
				2s 1 admit 3
				2s 1 failed 1 fail
				4.5s 1 lapse 2 bulkhead
				9s 1 cancel 3
				9s 1 end ok 3 2`},
		{name: "limits between retry and hedge keep what a round took",
			steps: []pipeline.Step{
				retryStep(2, second), limitStep(limiter.Config{Count: 1, Period: 50 * second, Burst: 2}),
				hedgeStep(hedge.Config{After: second}), places(1, 1),
			},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 0.9s cancel 2\n 3s done 1 fail\n 3s call 4\n 3s cancel 1\n 3s call 5",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				0s 3 reject limit rate 50s
				900ms 2 end cancel 0
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				3s 1 failed 1 fail
				3s 1 admit 2
				3s 4 wait 1 bulkhead
				3s 1 end cancel 2
				3s 4 admit 1
				3s 5 reject limit rate 47s`},
	})
}

func TestHedgeTimeouts(t *testing.T) {
	quick := hedgeStep(hedge.Config{After: second})
	places := bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1})
	run(t, []script{
		{name: "below, each attempt has its own", steps: []pipeline.Step{quick, timeoutStep(3 * second)},
			log: "0s call 1\n 9s tick",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				3s 1 timeout 1 timeout
				3s 1 failed 1 timeout
				4s 1 timeout 2 timeout
				4s 1 end timeout 2`},
		{name: "below, while it waits", steps: []pipeline.Step{retryStep(2, second), quick, timeoutStep(3 * second), places},
			log: "0s call 1\n 2.5s renew 1\n 2.9s done 1 fail\n 4s done 1 ok\n 5s call 2\n 5s call 3\n 9s tick", marked: true,
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				2.9s 1 failed 1 fail
				2.9s 1 admit 2
				4s 1 timeout 2 timeout
				4s 1 retry 2 timeout 5s
				4s 1 stale
				5s 1 admit 3
				5s 2 wait 1 bulkhead
				5s 3 reject bulkhead full fallback
				6s 1 hedge 4 hedge
				6s 1 drop 4 bulkhead full
				8s 1 timeout 3 timeout
				8s 1 end timeout 3 attempts fallback
				8s 2 timeout 1 timeout
				8s 2 end timeout 0 fallback`},
		{name: "below, while it waits beside one that lives",
			steps: []pipeline.Step{retryStep(2, second), hedgeStep(hedge.Config{Parallel: true, Max: 2}), timeoutStep(3 * second), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 2})},
			log:   "0s call 1\n 3s tick",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 wait 2 bulkhead
				0s 1 hedge 3 hedge
				0s 1 wait 3 bulkhead
				3s 1 timeout 1 timeout
				3s 1 failed 1 timeout
				3s 1 timeout 2 timeout
				3s 1 timeout 3 timeout
				3s 1 end timeout 1`},
		{name: "above, the lowest that waits when none runs",
			steps: []pipeline.Step{timeoutStep(3 * second), hedgeStep(hedge.Config{Parallel: true}), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 3})},
			log:   "0s call 1\n 0.5s call 2\n 2.5s cancel 1\n 2.6s done 2 fail\n 2.7s call 3\n 5.7s tick",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 wait 2 bulkhead
				500ms 2 wait 1 bulkhead
				500ms 2 hedge 2 hedge
				500ms 2 wait 2 bulkhead
				2.5s 1 end cancel 1
				2.5s 2 admit 1
				2.6s 2 failed 1 fail
				2.6s 2 admit 2
				2.7s 3 wait 1 bulkhead
				2.7s 3 hedge 2 hedge
				2.7s 3 wait 2 bulkhead
				3.5s 2 timeout 2 timeout
				3.5s 2 end timeout 2
				3.5s 3 admit 1
				5.7s 3 timeout 1 timeout
				5.7s 3 end timeout 1`},
		{name: "above, both wait",
			steps: []pipeline.Step{shadow(timeoutStep(3 * second)), hedgeStep(hedge.Config{Parallel: true}), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 3})},
			log:   "0s call 1 cost=2\n 1s call 2 deadline=1s\n 2s tick",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 wait 2 bulkhead
				1s 2 wait 1 bulkhead
				1s 2 hedge 2 hedge
				1s 2 wait 2 bulkhead
				2s 2 timeout 1 deadline
				2s 2 end timeout 0`},
		{name: "below, while it waits beside another", steps: []pipeline.Step{
			quick, shadow(named("s", timeoutStep(2*second))), named("in", timeoutStep(4*second)), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1, Lease: 9 * second}),
		},
			log: "0s call 9 cost=0 deadline=8s\n 0s call 1\n 4s tick\n 5s done 9 ok attempt=1",
			want: `0s 9 admit 1
				0s 1 wait 1 bulkhead
				1s 9 hedge 2 hedge
				1s 9 drop 2 bulkhead full
				2s 9 timeout 1 s shadow
				2s 1 timeout 1 s shadow
				4s 9 timeout 1 in
				4s 9 end timeout 1
				4s 1 timeout 1 in
				4s 1 end timeout 0
				5s 9 stale`},
		{name: "above, all in one line, and one that waits does not vote",
			steps: []pipeline.Step{timeoutStep(3 * second), quick, breakerStep(twoFailures()), places},
			log:   "0s call 1\n 3s call 2\n 3s done 2 fail\n 3s call 3",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				3s 1 timeout 1 timeout
				3s 1 end timeout 1
				3s 2 admit 1
				3s 2 end fail 1
				3s 3 reject breaker open 9s`},
		{name: "above, two that run open the breaker",
			steps: []pipeline.Step{timeoutStep(3 * second), quick, breakerStep(twoFailures())},
			log:   "0s call 1\n 3s call 2",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				3s 1 timeout 1 timeout
				3s 1 end timeout 2
				3s 2 reject breaker open 9s`},
		{name: "between retry and hedge it ends the round",
			steps: []pipeline.Step{retryStep(2, second), timeoutStep(3 * second), breakerStep(one(1500*1e6, 1)), quick},
			log:   "0s call 1\n 1.5s done 1 fail after=2s\n 4.5s call 2\n 5s tick",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 1 fail
				3s 1 timeout 2 timeout
				3s 1 retry 2 timeout 5s
				4.5s 2 admit 1
				5s 1 reject breaker probes 1.5s`},
		{name: "above, while the attempts wait",
			steps: []pipeline.Step{timeoutStep(5 * second), breakerStep(one(9*second, 1)), quick, bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 2})},
			log:   "0s call 1\n 0.5s call 2\n 1.5s done 1 fail\n 5s call 3",
			want: `0s 1 admit 1
				500ms 2 wait 1 bulkhead
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				1.5s 1 failed 1 fail
				1.5s 2 admit 1
				2.5s 2 hedge 2 hedge
				2.5s 2 wait 2 bulkhead
				5s 1 timeout 2 timeout
				5s 1 end timeout 1
				5s 3 wait 1 bulkhead`},
		{name: "the outermost step first, then the lowest attempt",
			steps: []pipeline.Step{hedgeStep(hedge.Config{Parallel: true}), timeoutStep(3 * second), timeoutStep(3 * second)},
			log:   "0s call 1\n 3s tick",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 admit 2
				3s 1 timeout 1 timeout
				3s 1 failed 1 timeout
				3s 1 timeout 2 timeout
				3s 1 end timeout 2`},
		{name: "a wait below is hopeless for the attempt alone",
			steps: []pipeline.Step{timeoutStep(9 * second), quick, timeoutStep(2 * second), limitStep(limiter.Config{
				Count: 1, Period: 5 * second, Burst: 1, Wait: 9 * second, Queue: 3,
			})},
			log: "0s call 1\n 1.5s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 drop 2 limit deadline
				1.5s 1 end ok 1 1`},
	})
}
