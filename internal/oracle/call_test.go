package oracle

import (
	"math/big"
	"testing"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

func TestRetries(t *testing.T) {
	budgeted := retryStep(9, second)
	pipeline.Edit(&budgeted, func(c *retry.Config) {
		c.Budgeted = true
		c.Budget = budget.Config{Ratio: reducer.Percent(50), MinimumCount: 1, MinimumPeriod: 10 * second, Window: 10 * second}
	})
	run(t, []script{
		{name: "attempts and pushback", steps: []pipeline.Step{retryStep(2, second)}, marked: true,
			log: "0s call 1\n 0s done 1 fail\n 1s done 1 throttle\n 2s call 2\n 2s done 2 fail after=-1ns\n 3s call 3\n 3s done 3 throttle after=5s\n 8s done 3 ok after=9s",
			want: `0s 1 admit 1
				0s 1 retry 1 fail 1s
				1s 1 admit 2
				1s 1 end throttle 2 attempts fallback
				2s 2 admit 1
				2s 2 end fail 1 pushback fallback
				3s 3 admit 1
				3s 3 retry 1 throttle 8s
				8s 3 admit 2
				8s 3 end ok 2`},
		{name: "the deadline comes first", steps: []pipeline.Step{retryStep(2, second)},
			log: "0s call 1 deadline=2s\n 1s done 1 fail\n 3s call 2 deadline=2001ms\n 4s done 2 fail\n 5s done 2 ok\n 9s tick",
			want: `0s 1 admit 1
				1s 1 end fail 1 deadline
				3s 2 admit 1
				4s 2 retry 1 fail 5s
				5s 2 admit 2
				5s 2 end ok 2`},
		{name: "a breaker inside will still be open", steps: []pipeline.Step{retryStep(2, 5*second), breakerStep(one(6*second, 1))},
			log: "0s call 1\n 0s done 1 fail\n 1s call 2\n 6s call 3\n 6s done 3 fail after=6s\n 12s done 3 ok",
			want: `0s 1 admit 1
				0s 1 end fail 1 open
				1s 2 reject breaker open 5s
				6s 3 admit 1
				6s 3 retry 1 fail 12s
				12s 3 admit 2
				12s 3 end ok 2`},
		{name: "a breaker outside sees the call once", steps: []pipeline.Step{breakerStep(one(6*second, 1)), retryStep(2, second)},
			log: "0s call 1\n 0s done 1 fail\n 0s call 2\n 1s done 1 fail\n 1s call 3",
			want: `0s 1 admit 1
				0s 1 retry 1 fail 1s
				0s 2 admit 1
				1s 1 admit 2
				1s 1 end fail 2 attempts
				1s 3 reject breaker open 6s`},
		{name: "a budget", steps: []pipeline.Step{budgeted},
			log: "0s call 1\n 0s call 2\n 0s done 1 fail\n 0s done 2 fail\n 1s done 1 fail\n 1s done 2 fail\n 2s call 3\n 2s done 3 fail",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 1 retry 1 fail 1s
				0s 2 retry 1 fail 1s
				1s 1 admit 2
				1s 2 admit 2
				1s 1 end fail 2 budget
				1s 2 end fail 2 budget
				2s 3 admit 1
				2s 3 end fail 1 budget`},
		{name: "a refusal ends the call and does not vote",
			steps: []pipeline.Step{breakerStep(one(9*second, 1)), retryStep(3, second), limitStep(rate(1))},
			log:   "0s call 1\n 0.5s done 1 fail\n 1s call 2\n 2s call 3",
			want: `0s 1 admit 1
				500ms 1 retry 1 fail 1.5s
				1s 2 admit 1
				1.5s 1 reject limit rate 500ms
				2s 3 admit 1`},
		{name: "a limiter outside keeps what it gave once an attempt ran", steps: []pipeline.Step{
			limitStep(limiter.Config{Count: 1, Period: 10 * second, Burst: 1}), retryStep(3, second),
			bulkheadStep(bulkhead.Config{Concurrent: 1}),
		},
			log: "0s call 1\n 0s done 1 fail\n 0s call 2 cost=0\n 1s call 3\n 2s done 2 ok\n 2s call 4",
			want: `0s 1 admit 1
				0s 1 retry 1 fail 1s
				0s 2 admit 1
				1s 1 reject bulkhead full
				1s 3 reject limit rate 9s
				2s 2 end ok 1
				2s 4 reject limit rate 8s`},
		{name: "jitter is seeded by the call and the attempt", seed: 5, steps: []pipeline.Step{decorrelated()},
			log: "0s call 1\n 0s done 1 fail",
			want: `0s 1 admit 1
				0s 1 retry 1 fail ` + duration(1e9+draw(5+1<<32+1, big.NewInt(2e9)).Int64())},
	})
}

func TestTimeouts(t *testing.T) {
	run(t, []script{
		{name: "the outermost first", steps: []pipeline.Step{timeoutStep(2 * second), retryStep(2, second), timeoutStep(2 * second)},
			log: "0s call 1 deadline=2s\n 1s call 2\n 9s tick",
			want: `0s 1 admit 1
				1s 2 admit 1
				2s 1 timeout 1 deadline
				2s 1 end timeout 1
				3s 2 timeout 1 timeout
				3s 2 end timeout 1`},
		{name: "a waiting call is cut and not retried",
			steps: []pipeline.Step{retryStep(2, second), timeoutStep(second), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1})},
			log:   "0s call 1\n 0s call 2\n 1s tick\n 1s renew 1\n 2s cancel 1\n 2s cancel 1", marked: true,
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				1s 1 timeout 1 timeout
				1s 1 retry 1 timeout 2s
				1s 2 timeout 1 timeout
				1s 2 end timeout 0 fallback
				1s 1 stale
				2s 1 admit 2
				2s 1 end cancel 2
				2s 1 stale`},
		{name: "retries start in the order of the calls", steps: []pipeline.Step{retryStep(2, second), limitStep(queued(2, 9*second, 1, 0))},
			log: "0s call 1\n 0s call 2\n 0s done 2 fail\n 0s done 1 fail\n 2s tick",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 2 retry 1 fail 1s
				0s 1 retry 1 fail 1s
				1s 1 admit 2
				1s 2 wait 2 limit 2s
				2s 2 admit 2`},
	})
}

func TestShadow(t *testing.T) {
	run(t, []script{
		{name: "a limit", steps: []pipeline.Step{shadow(limitStep(queued(1, second, 2, limiter.Newest)))}, marked: true,
			log: "0s call 1\n 0s call 2\n 0s call 3\n 0s call 4 cost=2\n 0s done 3 ok\n 0s call 5\n 0s call 6\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit shadow
				0s 2 admit 1
				0s 3 wait 1 limit shadow
				0s 3 admit 1
				0s 4 reject limit capacity shadow
				0s 4 admit 1
				0s 3 end ok 1
				0s 5 wait 1 limit shadow
				0s 5 admit 1
				0s 2 expire limit full shadow
				0s 6 wait 1 limit shadow
				0s 6 admit 1
				1s 5 expire limit wait shadow`},
		{name: "a breaker", steps: []pipeline.Step{shadow(breakerStep(one(5*second, 1)))},
			log: "0s call 1\n 0s done 1 fail\n 1s call 2\n 1s done 2 ok\n 5s call 3\n 5s done 3 ok\n 5s call 4",
			want: `0s 1 admit 1
				0s 1 end fail 1
				1s 2 reject breaker open 4s shadow
				1s 2 admit 1
				1s 2 end ok 1
				5s 3 admit 1
				5s 3 end ok 1
				5s 4 admit 1`},
		{name: "a retry", steps: []pipeline.Step{shadow(retryStep(2, second)), shadow(timeoutStep(second)), timeoutStep(2 * second)},
			log: "0s call 1\n 2s call 2\n 2s done 2 fail after=-1s",
			want: `0s 1 admit 1
				1s 1 timeout 1 timeout shadow
				2s 1 timeout 1 timeout-2
				2s 1 retry 1 timeout 3s shadow
				2s 1 end timeout 1
				2s 2 admit 1
				2s 2 end fail 1`},
		{name: "a bulkhead", steps: []pipeline.Step{shadow(bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 1, Lease: 2 * second}))},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 1s done 1 ok\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead shadow
				0s 2 admit 1
				0s 3 reject bulkhead full shadow
				0s 3 admit 1
				1s 1 end ok 1
				3s 2 lapse 1 bulkhead shadow`},
	})
}
