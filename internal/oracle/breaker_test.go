package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

func TestBreakers(t *testing.T) {
	window := breaker.Config{
		Window: breaker.Time, Count: 2, Span: 4 * second, Minimum: 2, FailureRate: reducer.Percent(100),
		Open: constant(10 * second), Probes: 1,
	}
	slow := breaker.Config{
		Count: 2, Minimum: 2, FailureRate: reducer.Percent(100), SlowOver: 2 * second, SlowRate: reducer.Percent(50),
		Open: constant(10 * second), Probes: 1,
	}
	bounded := one(10*second, 1)
	bounded.Open = backoff.Config{Kind: backoff.Linear, Base: 10 * second}
	bounded.HalfOpenMax = 5 * second
	row := one(10*second, 2)
	row.Count = 2
	run(t, []script{
		{name: "buckets are cut from the first step", steps: []pipeline.Step{breakerStep(window)},
			log: "1s call 1\n 1s call 2\n 2.9s done 1 fail\n 4.9s done 2 fail\n 5s call 3",
			want: `1s 1 admit 1
				1s 2 admit 1
				2.9s 1 end fail 1
				4.9s 2 end fail 1
				5s 3 reject breaker open 9.9s`},
		{name: "a bucket leaves the window", steps: []pipeline.Step{breakerStep(window)},
			log: "1s call 1\n 1s call 2\n 2.9s done 1 fail\n 5s done 2 fail\n 5s call 3",
			want: `1s 1 admit 1
				1s 2 admit 1
				2.9s 1 end fail 1
				5s 2 end fail 1
				5s 3 admit 1`},
		{name: "slow is longer than, not as long as", steps: []pipeline.Step{breakerStep(slow)},
			log: `0s call 1
				0s call 2
				2s done 1 ok
				2s done 2 ok
				2s call 3
				4001ms done 3 ok
				5s call 4`,
			want: `0s 1 admit 1
				0s 2 admit 1
				2s 1 end ok 1
				2s 2 end ok 1
				2s 3 admit 1
				4.001s 3 end ok 1
				5s 4 reject breaker open 9.001s`},
		{name: "failures in a row", steps: []pipeline.Step{breakerStep(row)},
			log: `0s call 1
				0s call 2
				0s call 3
				0s call 4
				0s call 5
				1s done 1 fail
				1s done 2 ok
				1s done 3 fail
				1s done 4 throttle
				1s done 5 fail
				11s call 6
				11s call 7
				12s done 6 fail
				12s done 7 ok
				12s call 8
				22s call 9
				22s call 10
				22s done 9 ok
				22s call 11
				22s done 10 ok
				22s call 12`,
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 4 admit 1
				0s 5 admit 1
				1s 1 end fail 1
				1s 2 end ok 1
				1s 3 end fail 1
				1s 4 end throttle 1
				1s 5 end fail 1
				11s 6 admit 1
				11s 7 admit 1
				12s 6 end fail 1
				12s 7 end ok 1
				12s 8 reject breaker open 10s
				22s 9 admit 1
				22s 10 admit 1
				22s 9 end ok 1
				22s 11 reject breaker probes 10s
				22s 10 end ok 1
				22s 12 admit 1`},
		{name: "half-open for too long", steps: []pipeline.Step{breakerStep(bounded)},
			log: "0s call 1\n 0s done 1 fail\n 12s call 2\n 15s call 3\n 15s done 2 ok\n 25s call 4\n 25s done 4 fail\n 36s call 5",
			want: `0s 1 admit 1
				0s 1 end fail 1
				12s 2 admit 1
				15s 3 reject breaker open 10s
				15s 2 end ok 1
				25s 4 admit 1
				25s 4 end fail 1
				36s 5 reject breaker open 9s`},
		{name: "a probe that stays out", steps: []pipeline.Step{breakerStep(one(10*second, 1))},
			log: "0s call 1\n 0s done 1 fail\n 12s call 2\n 21s call 3\n 22s call 4\n 23s done 2 fail\n 23s call 5\n 24s done 4 ok\n 24s call 6",
			want: `0s 1 admit 1
				0s 1 end fail 1
				12s 2 admit 1
				21s 3 reject breaker probes 10s
				22s 4 admit 1
				23s 2 end fail 1
				23s 5 reject breaker probes 10s
				24s 4 end ok 1
				24s 6 admit 1`},
		{name: "an older generation does not vote", steps: []pipeline.Step{breakerStep(one(10*second, 1))},
			log: "0s call 1\n 0s call 2\n 0s done 1 fail\n 10s call 3\n 10s done 2 fail\n 10s done 3 ok\n 10s call 4",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 1 end fail 1
				10s 3 admit 1
				10s 2 end fail 1
				10s 3 end ok 1
				10s 4 admit 1`},
		{name: "a call that is cut while it waits does not vote",
			steps: []pipeline.Step{breakerStep(one(9*second, 1)), bulkheadStep(bulkhead.Config{Concurrent: 1, Queue: 5})},
			log:   "0s call 1\n 0s call 2 deadline=2s\n 2s call 3\n 3s done 1 ok",
			want: `0s 1 admit 1
				0s 2 wait 1 bulkhead
				2s 2 timeout 1 deadline
				2s 2 end timeout 0
				2s 3 wait 1 bulkhead
				3s 1 end ok 1
				3s 3 admit 1`},
	})
}
