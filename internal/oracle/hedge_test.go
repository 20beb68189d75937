package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// perTen returns a budget that grants n in ten seconds.
func perTen(n uint32) budget.Config {
	return budget.Config{MinimumCount: n, MinimumPeriod: 10 * second, Window: 10 * second}
}

func TestHedgeClock(t *testing.T) {
	two := hedgeStep(hedge.Config{After: second, Max: 2})
	run(t, []script{
		{name: "after each admission, at most max", steps: []pipeline.Step{two},
			log: "0s call 1\n 9s done 1 ignore attempt=3",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				2s 1 hedge 3 hedge
				2s 1 admit 3
				9s 1 cancel 1
				9s 1 cancel 2
				9s 1 end ignore 3 3`},
		{name: "only while the latest attempt runs", steps: []pipeline.Step{two},
			log: "0s call 1\n 1.5s done 1 throttle attempt=2\n 9s done 1 fail",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 2 throttle
				9s 1 end fail 2`},
		{name: "whatever becomes of the earlier ones", steps: []pipeline.Step{two},
			log: "0s call 1\n 1.5s done 1 fail\n 2s done 1 fail attempt=2\n 2s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 1 fail
				2s 1 hedge 3 hedge
				2s 1 admit 3
				2s 1 failed 2 fail
				2s 1 end ok 3 3`},
		{name: "an attempt that waits starts no clock",
			steps: []pipeline.Step{two, bulkheadStep(bulkhead.Config{Concurrent: 2, Queue: 3})},
			log:   "0s call 1\n 0s call 2\n 3s done 1 fail\n 3.5s done 2 fail\n 5s cancel 1",
			want: `0s 1 admit 1
				0s 2 admit 1
				1s 1 hedge 2 hedge
				1s 1 wait 2 bulkhead
				1s 2 hedge 2 hedge
				1s 2 wait 2 bulkhead
				3s 1 failed 1 fail
				3s 1 admit 2
				3.5s 2 failed 1 fail
				3.5s 2 admit 2
				4s 1 hedge 3 hedge
				4s 1 wait 3 bulkhead
				4.5s 2 hedge 3 hedge
				4.5s 2 wait 3 bulkhead
				5s 1 end cancel 2
				5s 2 admit 3`},
		{name: "a dropped one is followed by none", steps: []pipeline.Step{two, bulkheadStep(bulkhead.Config{Concurrent: 1})},
			log: "0s call 1\n 5s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 drop 2 bulkhead full
				5s 1 end ok 1 1`},
		{name: "parallel starts them one after another",
			steps: []pipeline.Step{hedgeStep(hedge.Config{Parallel: true, Max: 2}), limitStep(queued(1, second, 1, 0))},
			log:   "0s call 1\n 0s call 2\n 1s done 1 fail\n 2s done 1 ok",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 wait 2 limit 1s
				0s 1 hedge 3 hedge
				0s 1 drop 3 limit full
				0s 2 reject limit full 1s
				1s 1 admit 2
				1s 1 failed 1 fail
				2s 1 end ok 2 2`},
		{name: "with the retries in the order of calls", steps: []pipeline.Step{retryStep(2, second), two},
			log: "0s call 1\n 0s call 2\n 0s call 3\n 0s done 2 fail\n 1s tick",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 2 retry 1 fail 1s
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1s 2 admit 2
				1s 3 hedge 2 hedge
				1s 3 admit 2`},
		{name: "ends come first", steps: []pipeline.Step{two},
			log: "0s call 1 deadline=1s\n 2s tick",
			want: `0s 1 admit 1
				1s 1 timeout 1 deadline
				1s 1 end timeout 1`},
		{name: "a percentile of the last durations",
			steps: []pipeline.Step{hedgeStep(hedge.Config{Percentile: reducer.Percent(50), Samples: 3, Minimum: 2})},
			log: `0s call 1
				9s done 1 ok
				10s call 2
				11s done 2 ok
				20s call 3
				22s done 3 fail
				22s call 4
				24s done 4 ok
				30s call 5
				31s done 5 ok
				40s call 6
				42s done 6 ok`, // 9s 1s; 9s 1s 1s (the hedge); 1s 1s 2s, of which 1s is in the middle
			want: `0s 1 admit 1
				9s 1 end ok 1 1
				10s 2 admit 1
				11s 2 end ok 1 1
				20s 3 admit 1
				21s 3 hedge 2 hedge
				21s 3 admit 2
				22s 3 failed 1 fail
				22s 4 admit 1
				23s 4 hedge 2 hedge
				23s 4 admit 2
				24s 4 cancel 2
				24s 4 end ok 2 1
				30s 5 admit 1
				31s 5 end ok 1 1
				40s 6 admit 1
				41s 6 hedge 2 hedge
				41s 6 admit 2
				42s 6 cancel 2
				42s 6 end ok 2 1`},
		{name: "an ignore is no sample", steps: []pipeline.Step{hedgeStep(hedge.Config{Percentile: reducer.Percent(100), Samples: 3, Minimum: 1})},
			log: "0s call 1\n 1s done 1 ignore\n 1s call 2\n 3s done 2 ok\n 3s call 3\n 5s tick",
			want: `0s 1 admit 1
				1s 1 end ignore 1 1
				1s 2 admit 1
				3s 2 end ok 1 1
				3s 3 admit 1
				5s 3 hedge 2 hedge
				5s 3 admit 2`},
		{name: "in shadow", steps: []pipeline.Step{shadow(two)},
			log: "0s call 1\n 9s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge shadow
				9s 1 end ok 1 1`},
		{name: "parallel in shadow", steps: []pipeline.Step{retryStep(2, second), shadow(hedgeStep(hedge.Config{Parallel: true, Max: 2}))},
			log: "0s call 1\n 0s done 1 fail\n 1s done 1 ok",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge shadow
				0s 1 hedge 3 hedge shadow
				0s 1 retry 1 fail 1s
				1s 1 admit 2
				1s 1 hedge 3 hedge shadow
				1s 1 hedge 4 hedge shadow
				1s 1 end ok 2 2`},
	})
}

func TestHedgeBudget(t *testing.T) {
	own := hedgeStep(hedge.Config{After: second, Max: 3, Budgeted: true, Budget: perTen(1)})
	budgeted := pipeline.Step{Config: retry.Config{Attempts: 2, Backoff: constant(second), Budgeted: true, Budget: perTen(1)}}
	plain := hedgeStep(hedge.Config{After: second, Max: 3})
	run(t, []script{
		{name: "its own: not granted, none follows in the round", steps: []pipeline.Step{own},
			log: "0s call 1\n 20s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				20s 1 cancel 2
				20s 1 end ok 2 1`},
		{name: "parallel", steps: []pipeline.Step{hedgeStep(hedge.Config{Parallel: true, Max: 5, Budgeted: true, Budget: perTen(2)})},
			log: "0s call 1\n 1s done 1 ok",
			want: `0s 1 admit 1
				0s 1 hedge 2 hedge
				0s 1 admit 2
				0s 1 hedge 3 hedge
				0s 1 admit 3
				1s 1 cancel 2
				1s 1 cancel 3
				1s 1 end ok 3 1`},
		{name: "the retry's, which counts hedges", steps: []pipeline.Step{budgeted, plain},
			log: "0s call 1\n 1.5s done 1 fail attempt=2\n 2s done 1 fail",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 2 fail
				2s 1 end fail 2 budget`},
		{name: "its own leaves the retry's alone", steps: []pipeline.Step{budgeted, own},
			log: "0s call 1\n 1.5s done 1 fail attempt=2\n 2s done 1 fail\n 4s done 1 fail",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge
				1s 1 admit 2
				1.5s 1 failed 2 fail
				2s 1 retry 1 fail 3s
				3s 1 admit 3
				4s 1 end fail 3 attempts`},
		{name: "in shadow it takes nothing from the retry's", steps: []pipeline.Step{budgeted, shadow(plain)},
			log: "0s call 1\n 2s done 1 fail\n 4s done 1 ok",
			want: `0s 1 admit 1
				1s 1 hedge 2 hedge shadow
				2s 1 retry 1 fail 3s
				3s 1 admit 2
				4s 1 end ok 2 2`},
		{name: "in shadow it takes from its own", steps: []pipeline.Step{shadow(own)},
			log: "0s call 1\n 0s call 2\n 2s tick",
			want: `0s 1 admit 1
				0s 2 admit 1
				1s 1 hedge 2 hedge shadow`},
	})
}
