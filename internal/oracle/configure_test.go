package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// steps makes a list of steps.
func steps(all ...pipeline.Step) []pipeline.Step { return all }

func TestConfigureLimits(t *testing.T) {
	quick := limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: 1, Period: second})
	slow := limitStep(limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: 10 * second})
	sliding := limitStep(limiter.Config{Algorithm: limiter.SlidingCounter, Count: 2, Period: 4 * second})
	run(t, []script{
		{name: "free permits carry over, whole ones", steps: steps(limitStep(rate(4))),
			later: [][]pipeline.Step{steps(limitStep(limiter.Config{Count: 1, Period: 10 * second, Burst: 9}))},
			log:   "0s call 1 cost=3\n 1.5s configure\n 1.5s call 2 cost=2\n 1.5s call 3",
			want: `0s 1 admit 1
				1.5s configured
				1.5s 2 admit 1
				1.5s 3 reject limit rate 10s`},
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
		{name: "who can no longer be served", steps: steps(limitStep(queued(3, 9*second, 5, 0))), marked: true,
			later: [][]pipeline.Step{steps(limitStep(queued(1, 9*second, 5, 0)))},
			log:   "0s call 1 cost=3\n 0s call 2 cost=2\n 0s call 3\n 0.5s configure\n 9s tick",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 2s
				0s 3 wait 1 limit 3s
				500ms configured
				500ms 2 expire limit capacity fallback
				1.5s 3 admit 1`},
		{name: "a changed per begins anew", steps: steps(limitStep(rate(1))),
			later: [][]pipeline.Step{steps(per(limitStep(rate(1)), "key"))},
			log:   "0s call 1\n 0s configure\n 0s call 2\n 0s call 3",
			want: `0s 1 admit 1
				0s configured
				0s 2 admit 1
				0s 3 reject limit rate 1s`},
	})
}

func TestConfigureOthers(t *testing.T) {
	rates := breaker.Config{Count: 3, Minimum: 3, FailureRate: 500_000, Open: constant(5 * second), Probes: 3}
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
		{name: "calls keep their plan, and the cells of what is gone", steps: steps(places(1), timeoutStep(3*second)),
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
