package mechanisms_test

import (
	"testing"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
)

// A step is described in one line, defaults included.
func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		step string // of a policy document
		at   mechanism.Step
		want string
	}{
		{"timeout: 10s", mechanism.Step{First: true}, "10s for the whole call"},
		{"timeout: 90m", mechanism.Step{}, "1h30m for the call"},
		{"timeout: {after: 60m, soft: 1m}", mechanism.Step{First: true, EachAttempt: true}, "1h for each attempt, warns after 1m"},
		{"retry: 1", mechanism.Step{}, "1 attempt, backoff exponential 500ms factor 2 max 1m with full jitter, no budget"},
		{"retry: {backoff: none, budget: {ratio: 12.5%, minimum: 3/1s, window: 5s}}", mechanism.Step{Methods: []string{"GET", "PUT"}}, "3 attempts, backoff none, budget 12.5%, 3/1s at least, over 5s, methods GET PUT"},
		{"retry: {backoff: {exponential: 1s, factor: 1.05, max: 90s}, jitter: equal}", mechanism.Step{}, "3 attempts, backoff exponential 1s factor 1.05 max 1m30s with equal jitter, no budget"},
		{"retry: {backoff: {exponential: 1s, factor: 12}}", mechanism.Step{}, "3 attempts, backoff exponential 1s factor 12 max 1m with full jitter, no budget"},
		{"retry: {backoff: {constant: 2s}, jitter: none, budget: 20%}", mechanism.Step{}, "3 attempts, backoff constant 2s without jitter, budget 20%, 10/1s at least, over 10s"},
		{"retry: {backoff: {linear: 2s}, jitter: 25%}", mechanism.Step{}, "3 attempts, backoff linear 2s with jitter 25%, no budget"},
		{"retry: {backoff: {decorrelated: 2s, max: 1m}}", mechanism.Step{}, "3 attempts, backoff decorrelated 2s max 1m, no budget"},
		{"breaker: {}", mechanism.Step{}, "opens at 50% failed of the last 100 calls, from 100 on, for 1m, then 10 probes"},
		{"breaker: {window: {consecutive: 1}, open: 5s, probes: 1}", mechanism.Step{}, "opens at 1 failure in a row, for 5s, then 1 probe"},
		{"breaker: {window: {consecutive: 4}, open: {constant: 5s, jitter: full}, half_open_max: 3s}", mechanism.Step{}, "opens at 4 failures in a row, for constant 5s with full jitter, then 10 probes within 3s"},
		{"breaker: {window: {time: 1m}, slow: {over: 2s, rate: 80%}, minimum: 5, open: {exponential: 1s, max: 1m}}", mechanism.Step{}, "opens at 50% failed or 80% slower than 2s of the last 1m in 10 buckets, from 5 on, for exponential 1s factor 2 max 1m without jitter, then 10 probes"},
		{"breaker: {slow: {over: 1ns, rate: 100%}}", mechanism.Step{}, "opens at 50% failed or 100% slower than 1ns of the last 100 calls, from 100 on, for 1m, then 10 probes"},
		{"limit: 3/1s", mechanism.Step{}, "3/1s token-bucket, burst 3, one each 333.333334ms, refuses at once"},
		{"limit: {rate: 3/1s, burst: 7, wait: 2s, queue: 5}", mechanism.Step{}, "3/1s token-bucket, burst 7, one each 333.333334ms, queue 5, waits up to 2s"},
		{"limit: {rate: 3/1m, algorithm: fixed-window, wait: 2s, queue: 5, order: newest}", mechanism.Step{}, "3/1m fixed-window, queue 5, waits up to 2s, newest first"},
		{"limit: {rate: 3/1m, algorithm: sliding-counter}", mechanism.Step{}, "3/1m sliding-counter, refuses at once"},
		{"limit: {rate: 3/1m, algorithm: sliding-log}", mechanism.Step{}, "3/1m sliding-log, refuses at once"},
		{"limit: {rate: 6/1m, algorithm: leaky-bucket}", mechanism.Step{}, "6/1m leaky-bucket, one each 10s, refuses at once"},
		{"bulkhead: 4", mechanism.Step{}, "4 at once, refuses at once"},
		{"bulkhead: {concurrent: 4, queue: 2}", mechanism.Step{}, "4 at once, queue 2, waits as long as the caller does"},
		{"bulkhead: {concurrent: 4, queue: 2, wait: 1s, order: newest, lease: 1m}", mechanism.Step{}, "4 at once, queue 2, waits up to 1s, newest first, lease 1m"},
		{"hedge: {after: 1s}", mechanism.Step{}, "1 further attempt, each after 1s"},
		{"hedge: {after: p99.5, max: 2, budget: 10%}", mechanism.Step{Methods: []string{"GET"}}, "2 further attempts, each after p99.5 of the last 100 durations, from 20 on, budget 10%, 10/1s at least, over 10s, methods GET"},
		{"hedge: {parallel: true, budget: none}", mechanism.Step{}, "1 further attempt at once, no budget"},
		{"adaptive: {}", mechanism.Step{}, "20 at once, from 1 to 200: 1 more by a good round, 10% less by one with more than 15% timeouts and answers over 60% of the time that an attempt has"},
		{"chaos: {fail: 0%}", mechanism.Step{}, "injects nothing"},
		{"chaos: {fail: 5%, throttle: {rate: 1%}, ignore: 0.5%, slow: {rate: 10%, by: 200ms}}", mechanism.Step{}, "injects fail 5%, throttle 1%, ignore 0.5%, slow 10% by 200ms"},
		{"chaos: {throttle: {rate: 1%, retry_after: 120s}, slow: {rate: 100%, by: 200ms, to: 60s}}", mechanism.Step{}, "injects throttle 1% with retry_after 2m, slow 100% by 200ms to 1m"},
	} {
		parsed, err := policy.ParseOne("step.yaml", []byte("steps: [{"+c.step+"}]"))
		if err != nil {
			t.Errorf("%s: %v", c.step, err)
			continue
		}
		plan, err := pipeline.Compile(parsed.Policy)
		if err != nil {
			t.Errorf("%s: %v", c.step, err)
			continue
		}
		step := plan.Step(0)
		if got := mechanisms.Docs(step.Kind()).Describe(step.Config, c.at); got != c.want {
			t.Errorf("%s: %q, want %q", c.step, got, c.want)
		}
	}
}
