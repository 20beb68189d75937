package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// steps makes a list of steps.
func steps(all ...pipeline.Step) []pipeline.Step { return all }

func TestConfigureLimits(t *testing.T) {
	quick := limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: 1, Period: second})
	slow := limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 10 * second})
	sliding := limitStep(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 2, Period: 4 * second})
	fixed := func(count uint32) pipeline.Step {
		return limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: count, Period: 10 * second})
	}
	run(t, []script{
		{name: "free permits carry over with their fraction", steps: steps(limitStep(rate(4))),
			later: [][]pipeline.Step{steps(limitStep(limiter.Config{Count: 1, Period: 10 * second, Burst: 9}))},
			log:   "0s call 1 cost=3\n 1.5s configure\n 1.5s call 2 cost=2\n 1.5s call 3",
			want: `0s 1 admit 1
				1.5s configured
				1.5s 2 admit 1
				1.5s 3 reject limit rate 5s`},
		{name: "at most the new burst, and a limit for all is full from the start", steps: steps(limitStep(rate(4))),
			later: [][]pipeline.Step{steps(limitStep(rate(2))), steps(limitStep(rate(3)))},
			log:   "9s configure\n 9s configure\n 9s call 1 cost=2\n 9s call 2",
			want: `9s configured
				9s configured
				9s 1 admit 1
				9s 2 reject limit rate 1s`},
		{name: "unchanged settings change nothing", steps: steps(limitStep(rate(2))),
			later: [][]pipeline.Step{steps(limitStep(limiter.Config{Count: 2, Period: 2 * second, Burst: 2}))},
			log:   "0s call 1 cost=2\n 1.5s configure\n 2s call 2 cost=2",
			want: `0s 1 admit 1
				1.5s configured
				2s 2 admit 1`},
		{name: "a lower count of a fixed window holds at once, a higher one from the next window on", // policy/REFERENCE.md#fixed-window
			steps: steps(fixed(4)), later: [][]pipeline.Step{steps(fixed(2)), steps(fixed(9)), steps(fixed(3))},
			log: `0s call 1 cost=2
				1s configure
				1s call 2
				2s configure
				2s call 3 cost=2
				2s call 4
				2s call 5 cost=9
				3s configure
				10s call 6 cost=3
				10s call 7`,
			want: `0s 1 admit 1
				1s configured
				1s 2 reject limit rate 9s
				2s configured
				2s 3 admit 1
				2s 4 reject limit rate 8s
				2s 5 reject limit rate 8s
				3s configured
				10s 6 admit 1
				10s 7 reject limit rate 10s`},
		{name: "a changed duration starts with the next window", steps: steps(slow),
			later: [][]pipeline.Step{steps(quick)},
			log:   "0s call 1\n 1s configure\n 2s call 2\n 10s call 3\n 11s call 4",
			want: `0s 1 admit 1
				1s configured
				2s 2 reject limit rate 8s
				10s 3 admit 1
				11s 4 admit 1`},
		{name: "another algorithm", steps: steps(limitStep(rate(2))),
			later: [][]pipeline.Step{steps(slow), steps(sliding), steps(limitStep(rate(3)))},
			log:   "0s call 1\n 0s configure\n 0s call 2\n 9s call 3\n 10s configure\n 10s call 4 cost=2\n 11s configure\n 11s call 5",
			want: `0s 1 admit 1
				0s configured
				0s 2 admit 1
				9s 3 reject limit rate 1s
				10s configured
				10s 4 admit 1
				11s configured
				11s 5 reject limit rate 1s`},
		{name: "waiters that can no longer be served", steps: steps(limitStep(queued(3, 9*second, 5, 0))), marked: true,
			later: [][]pipeline.Step{steps(limitStep(queued(1, 9*second, 5, 0)))},
			log:   "0s call 1 cost=3\n 0s call 2 cost=2\n 0s call 3\n 0.5s configure\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 2s
				0s 3 wait 1 limit 3s
				500ms configured
				500ms 2 expire limit capacity fallback
				1s 3 admit 1`},
		{name: "two waits of one call", steps: steps(
			shadow(named("s2", limitStep(queued(4, 2*second, 1, 0)))),
			named("s4", limitStep(limiter.Config{Count: 1, Period: 2 * second, Burst: 3, Wait: 19 * second, Queue: 1}))),
			later: [][]pipeline.Step{steps(
				named("s4", limitStep(limiter.Config{Count: 1, Period: 2 * second, Burst: 1})), shadow(named("s2", limitStep(rate(1)))))},
			log: "17s call 1 cost=2\n 17s call 2 cost=3\n 17s configure",
			want: `17s 1 admit 1
				17s 2 wait 1 s2 18s shadow
				17s 2 wait 1 s4 21s
				17s configured
				17s 2 expire s2 capacity shadow
				17s 2 expire s4 capacity`},
		{name: "a sliding log counts on, for the duration of each admission",
			steps: steps(limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: 4 * second})),
			later: [][]pipeline.Step{
				steps(limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 2, Period: second})),
			},
			log: "0s call 1\n 1s call 2 cost=2\n 2s configure\n 2s call 3\n 4s call 4\n 5s call 5\n 5s call 6\n 6s call 7",
			want: `0s 1 admit 1
				1s 2 admit 1
				2s configured
				2s 3 reject limit rate 3s
				4s 4 reject limit rate 1s
				5s 5 admit 1
				5s 6 admit 1
				6s 7 admit 1`},
		{name: "a leaky bucket keeps the mark of the next departure",
			steps: steps(limitStep(limiter.Config{Algorithm: limiter.LeakyBucket, Count: 2, Period: 4 * second})),
			later: [][]pipeline.Step{
				steps(limitStep(limiter.Config{Algorithm: limiter.LeakyBucket, Count: 4, Period: 4 * second})),
			},
			log: "0s call 1\n 1s configure\n 1s call 2\n 2s call 3\n 2s call 4\n 3s call 5",
			want: `0s 1 admit 1
				1s configured
				1s 2 reject limit rate 1s
				2s 3 admit 1
				2s 4 reject limit rate 1s
				3s 5 admit 1`},
		{name: "to and from a leaky bucket", steps: steps(limitStep(rate(3))),
			later: [][]pipeline.Step{
				steps(limitStep(limiter.Config{Algorithm: limiter.LeakyBucket, Count: 3, Period: 3 * second})),
				steps(limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 5, Period: 2 * second})),
			},
			log: "0s call 1\n 0s configure\n 0s call 2\n 1s call 3\n 1s configure\n 1s call 4\n 3s call 5 cost=5",
			want: `0s 1 admit 1
				0s configured
				0s 2 reject limit rate 1s
				1s 3 admit 1
				1s configured
				1s 4 reject limit rate 2s
				3s 5 admit 1`},
		{name: "a changed per starts with new cells", steps: steps(limitStep(rate(1))),
			later: [][]pipeline.Step{steps(per(limitStep(rate(1)), "key"))},
			log:   "0s call 1\n 0s configure\n 0s call 2\n 0s call 3",
			want: `0s 1 admit 1
				0s configured
				0s 2 admit 1
				0s 3 reject limit rate 1s`},
	})
}

func TestConfigureHedges(t *testing.T) {
	percentile := hedge.Config{Percentile: reducer.Percent(50), Samples: 3, Minimum: 1}
	fewer := percentile
	fewer.Samples = 1
	budgeted := hedge.Config{After: second, Budgeted: true, Budget: budget.Config{
		MinimumCount: 1, MinimumPeriod: 10 * second, Window: 10 * second,
	}}
	run(t, []script{
		{name: "a call keeps its plan", steps: steps(hedgeStep(hedge.Config{After: 2 * second})),
			later: [][]pipeline.Step{steps(hedgeStep(hedge.Config{After: second}))},
			log:   "0s call 1\n 0s configure\n 0s call 2\n 2s done 2 ok\n 2s done 1 ok",
			want: `0s 1 admit 1
				0s configured
				0s 2 admit 1
				1s 2 hedge 2 hedge
				1s 2 admit 2
				2s 1 hedge 2 hedge
				2s 1 admit 2
				2s 2 cancel 2
				2s 2 end ok 2 1
				2s 1 cancel 2
				2s 1 end ok 2 1`},
		{name: "the last durations stay", steps: steps(hedgeStep(percentile)),
			later: [][]pipeline.Step{steps(hedgeStep(fewer)), steps(hedgeStep(percentile))},
			log: `0s call 1
				1s done 1 ok
				1s call 2
				4s done 2 ok
				4s configure
				4s configure
				4s call 3
				7s done 3 ok`,
			want: `0s 1 admit 1
				1s 1 end ok 1 1
				1s 2 admit 1
				2s 2 hedge 2 hedge
				2s 2 admit 2
				4s 2 cancel 2
				4s 2 end ok 2 1
				4s configured
				4s configured
				4s 3 admit 1
				7s 3 hedge 2 hedge
				7s 3 admit 2
				7s 3 cancel 2
				7s 3 end ok 2 1`},
		{name: "a budget starts with a new state unless there was one", steps: steps(hedgeStep(budgeted)),
			later: [][]pipeline.Step{
				steps(hedgeStep(budgeted)), steps(hedgeStep(hedge.Config{After: second})), steps(hedgeStep(budgeted)),
			},
			log: `0s call 1
				1s done 1 ok
				1s configure
				1s call 2
				2s done 2 ok
				2s configure
				2s configure
				2s call 3
				3s done 3 ok`,
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1s 1 cancel 2
				1s 1 end ok 2 1
				1s configured
				1s 2 admit 1
				2s 2 end ok 1 1
				2s configured
				2s configured
				2s 3 admit 1
				3s 3 hedge 2 hedge
				3s 3 admit 2
				3s 3 cancel 2
				3s 3 end ok 2 1`},
	})
}

func TestConfigureOthers(t *testing.T) {
	rates := breaker.Config{Count: 3, Minimum: 3, FailureRate: reducer.Percent(50), Open: constant(5 * second), Probes: 3}
	fewer, wider := rates, rates
	fewer.Probes = 1
	wider.Count = 4
	places := func(n uint32) pipeline.Step { return bulkheadStep(bulkhead.Config{Concurrent: n, Queue: 3}) }
	run(t, []script{
		{name: "fewer probes decide at once", steps: steps(breakerStep(rates)),
			later: [][]pipeline.Step{steps(breakerStep(fewer))},
			log: `0s call 1
				0s call 2
				0s call 3
				0s done 1 fail
				0s done 2 fail
				0s done 3 fail
				5s call 4
				5s done 4 fail
				6s configure
				6s call 5`,
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 1 end fail 1
				0s 2 end fail 1
				0s 3 end fail 1
				5s 4 admit 1
				5s 4 end fail 1
				6s configured
				6s 5 reject breaker open 5s`},
		{name: "a changed window starts without outcomes", steps: steps(breakerStep(rates)),
			later: [][]pipeline.Step{steps(breakerStep(wider))},
			log: `0s call 1
				0s call 2
				0s call 3
				0s done 1 fail
				0s done 2 fail
				0s configure
				0s done 3 fail
				0s call 4`,
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 1 end fail 1
				0s 2 end fail 1
				0s configured
				0s 3 end fail 1
				0s 4 admit 1`},
		{name: "a bulkhead keeps its holders", steps: steps(places(3)),
			later: [][]pipeline.Step{steps(places(1)), steps(places(2))},
			log:   "0s call 1\n 0s call 2\n 0s configure\n 0s call 3\n 1s done 1 ok\n 2s configure\n 3s done 2 ok\n 3s done 3 ok",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s configured
				0s 3 wait 1 bulkhead
				1s 1 end ok 1
				2s configured
				2s 3 admit 1
				3s 2 end ok 1
				3s 3 end ok 1`},
		{name: "calls keep their plan, and the cells of steps that were removed", steps: steps(places(1), timeoutStep(3*second)),
			later: [][]pipeline.Step{steps(timeoutStep(second)), steps(places(1))},
			log:   "0s call 1\n 0s call 2\n 0s configure\n 0s call 3\n 2s configure\n 2s call 4\n 2s call 5\n 9s cancel 5",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				0s configured
				0s 3 admit 1
				1s 3 timeout 1 timeout
				1s 3 end timeout 1
				2s configured
				2s 4 admit 1
				2s 5 wait 1 bulkhead
				3s 1 timeout 1 timeout
				3s 1 end timeout 1
				3s 2 admit 1
				6s 2 timeout 1 timeout
				6s 2 end timeout 1
				9s 5 end cancel 0`},
	})
}
