package oracle

import (
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
)

// keyed returns the step with at most so many keys.
func keyed(keys uint32, s pipeline.Step) pipeline.Step {
	s.Per, s.Keys = []string{"key"}, keys
	return s
}

func TestKeys(t *testing.T) {
	hour := limiter.Config{Count: 1, Period: 3600 * second, Burst: 1}
	sharing := keyed(1, limitStep(hour))
	sharing.WhenFull = pipeline.FullShare
	queueing := hour
	queueing.Wait, queueing.Queue = 7200*second, 1
	run(t, []script{
		{name: "the least recently used key is evicted, a refusal is a use", steps: steps(keyed(2, limitStep(hour))),
			log: "0s call 1 key=a\n 0s call 2 key=b\n 0s call 3 key=a\n 0s call 4 key=c\n 0s call 5 key=a\n 0s call 6 key=b\n 0s call 7 key=c",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 reject limit rate 1h0m0s
				0s 4 admit 1
				0s 5 reject limit rate 1h0m0s
				0s 6 admit 1
				0s 7 admit 1`},
		{name: "a key whose call waits does not", steps: steps(keyed(1, limitStep(queueing))),
			log: "0s call 1 key=a\n 0s call 2 key=a\n 0s call 3 key=b\n 0s call 4 key=c\n 0s call 5 key=c\n 0s cancel 4\n 0s cancel 2\n 0s call 6 key=b\n 0s call 7 key=a",
			want: `0s 1 admit 1
				0s 2 wait 1 limit 1h0m0s
				0s 3 admit 1
				0s 4 wait 1 limit 1h0m0s
				0s 5 reject limit full 1h0m0s
				0s 4 end cancel 0
				0s 2 end cancel 0
				0s 6 admit 1
				0s 7 admit 1`},
		{name: "nor one that holds a place, or whose place lapses only later",
			steps: steps(keyed(1, bulkheadStep(bulkhead.Config{Concurrent: 1, Lease: 2 * second}))),
			log:   "0s call 1 key=a\n 1s call 2 key=b\n 1s call 3 key=c\n 2s call 4 key=c\n 2s call 5 key=a\n 3s renew 1\n 3s done 1 ok",
			want: `0s 1 admit 1
				1s 2 admit 1
				1s 3 reject bulkhead full
				2s 1 lapse 1 bulkhead
				2s 4 admit 1
				2s 5 reject bulkhead full
				3s 2 lapse 1 bulkhead
				3s 1 end ok 1`},
		{name: "a breaker with a probe out is held, one without is forgotten",
			steps: steps(keyed(1, breakerStep(one(5*second, 1)))),
			log: `0s call 1 key=a
				0s done 1 fail
				0s call 2 key=a
				5s call 3 key=a
				5s call 4 key=b
				5s call 5 key=b
				5s done 4 fail
				5s call 6 key=c
				5s done 3 fail
				5s call 7 key=a
				5s call 8 key=b
				5s call 9 key=a`,
			want: `0s 1 admit 1
				0s 1 end fail 1
				0s 2 reject breaker open 5s
				5s 3 admit 1
				5s 4 admit 1
				5s 5 admit 1
				5s 4 end fail 1
				5s 6 reject breaker open 5s
				5s 3 end fail 1
				5s 7 reject breaker open 5s
				5s 8 admit 1
				5s 9 admit 1`},
		{name: "a vote and a refund to an evicted cell do nothing",
			steps: steps(keyed(1, breakerStep(one(5*second, 1))), named("l", keyed(1, limitStep(hour))), bulkheadStep(bulkhead.Config{Concurrent: 2, Queue: 9})),
			log: `0s call 1 key=a
				0s call 2 key=b
				0s call 3 key=a
				0s call 4 key=a
				0s cancel 3
				0s done 1 fail
				0s call 5 key=a`,
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 wait 1 bulkhead
				0s 4 reject l rate 1h0m0s
				0s 3 end cancel 0
				0s 1 end fail 1
				0s 5 admit 1`},
		{name: "of several cells the one whose next waiter called first", steps: steps(keyed(2, limitStep(queued(1, second, 1, 0)))),
			log: "0s call 1 key=a\n 0s call 2 key=b\n 0s call 3 key=b\n 0s call 4 key=a\n 1s tick",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 wait 1 limit 1s
				0s 4 wait 1 limit 1s
				1s 3 admit 1
				1s 4 admit 1`},
		{name: "share", steps: steps(sharing),
			log: "0s call 1 key=a\n 0s call 2 key=b\n 0s call 3 key=c\n 0s call 4 key=a\n 3600s call 5 key=c\n 3600s call 6 key=b\n 3600s call 7 key=a",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 reject limit rate 1h0m0s
				0s 4 reject limit rate 1h0m0s
				1h0m0s 5 admit 1
				1h0m0s 6 reject limit rate 1h0m0s
				1h0m0s 7 admit 1`},
		{name: "a lowered number evicts at once, the least recently used first", steps: steps(keyed(3, limitStep(hour))),
			later: [][]pipeline.Step{steps(keyed(1, limitStep(hour))), steps(keyed(3, limitStep(hour)))},
			log:   "0s call 1 key=a\n 0s call 2 key=b\n 0s call 3 key=c\n 0s call 4 key=b\n 0s configure\n 0s configure\n 0s call 5 key=b\n 0s call 6 key=a\n 0s call 7 key=c",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 4 reject limit rate 1h0m0s
				0s configured
				0s configured
				0s 5 reject limit rate 1h0m0s
				0s 6 admit 1
				0s 7 admit 1`},
	})
}

func TestMissing(t *testing.T) {
	shared := breakerStep(one(9*second, 1))
	shared.Per, shared.Keys = []string{"key"}, 1
	shared.WhenFull, shared.Missing = pipeline.FullShare, pipeline.MissingSkip
	missing := func(m pipeline.Missing, s pipeline.Step) pipeline.Step {
		s.Per, s.Missing = []string{"key", "header:x"}, m
		return s
	}
	run(t, []script{
		{name: "share", steps: steps(missing(pipeline.MissingShare, limitStep(rate(1)))),
			log: "0s call 1 key=a\n 0s call 2 x=a\n 0s call 3\n 0s call 4 key=a\n 0s call 5 x=a\n 0s call 6 x=",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 4 reject limit rate 1s
				0s 5 reject limit rate 1s
				0s 6 reject limit rate 1s`},
		{name: "deny", steps: steps(missing(pipeline.MissingDeny, limitStep(rate(1)))), marked: true,
			log: "0s call 1 key=a x=b\n 0s call 2 key=a\n 0s call 3 x=b\n 0s call 4 key=a x= cost=0\n 0s call 5 key=a x=b",
			want: `0s 1 admit 1
				0s 2 reject limit missing fallback
				0s 3 reject limit missing fallback
				0s 4 reject limit missing fallback
				0s 5 reject limit rate 1s fallback`},
		{name: "deny in shadow", steps: steps(shadow(missing(pipeline.MissingDeny, limitStep(rate(1))))),
			log: "0s call 1 key=a",
			want: `0s 1 reject limit missing shadow
				0s 1 admit 1`},
		{name: "skip", steps: steps(missing(pipeline.MissingSkip, limitStep(rate(1)))),
			log: "0s call 1 key=a\n 0s call 2 key=a\n 0s call 3 key=a x=b\n 0s call 4 key=a x=b",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 3 admit 1
				0s 4 reject limit rate 1s`},
		{name: "skip at a breaker that keys share", steps: steps(retryStep(2, second), shared),
			log: "0s call 1 key=a\n 0s call 2 key=b\n 0s done 2 fail\n 0s call 3\n 0s done 3 fail\n 1s done 3 ok",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 2 end fail 1 open
				0s 3 admit 1
				0s 3 retry 1 fail 1s
				1s 3 admit 2
				1s 3 end ok 2`},
		{name: "skip at a breaker, which a retry then ignores",
			steps: steps(retryStep(2, second), missing(pipeline.MissingSkip, breakerStep(one(9*second, 1)))),
			log:   "0s call 1 key=a x=b\n 0s call 2 key=a\n 0s done 1 fail\n 0s done 2 fail\n 1s done 2 fail",
			want: `0s 1 admit 1
				0s 2 admit 1
				0s 1 end fail 1 open
				0s 2 retry 1 fail 1s
				1s 2 admit 2
				1s 2 end fail 2 attempts`},
	})
}
