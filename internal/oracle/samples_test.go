package oracle

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/reducer"
)

// samples is the folder of the sample documents and logs.
const samples = "../../policy/testdata/samples/"

// TestSamples compares the decisions of the samples. Their policies are literals
// here, so that no parser is needed.
func TestSamples(t *testing.T) {
	for name, policy := range samplePolicies() {
		t.Run(name, func(t *testing.T) {
			events := readSample(t, name+".events.ndjson")
			var log []Event
			for _, line := range events {
				log = append(log, parseEvent(t, line))
			}
			got, err := Run(policy, 0, log)
			if err != nil {
				t.Fatal(err)
			}
			want := readSample(t, name+".decisions.ndjson")
			if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("got\n%s\nwant\n%s", g, w)
			}
		})
	}
}

func samplePolicies() map[string]pipeline.Policy {
	return map[string]pipeline.Policy{
		"bucket": {Steps: []pipeline.Step{
			limitStep(limiter.Config{Count: 1, Period: time.Second, Burst: 2, Wait: 2 * time.Second, Queue: 2}),
		}},
		"breaker": {Steps: []pipeline.Step{{Config: breaker.Config{
			Count: 4, Minimum: 4, FailureRate: reducer.Percent(50), Probes: 2,
			Open: backoff.Config{Kind: backoff.Constant, Base: 10 * time.Second},
		}}}},
		"queue": {Steps: []pipeline.Step{{Config: bulkhead.Config{
			Concurrent: 1, Queue: 2, Wait: 3 * time.Second,
		}}}},
		"retry": {Steps: []pipeline.Step{
			timeoutStep(10 * time.Second),
			{Config: retry.Config{Attempts: 3, Backoff: backoff.Config{
				Kind: backoff.Exponential, Base: time.Second, Factor: 3_000_000, Max: 5 * time.Second,
			}}},
			timeoutStep(2 * time.Second),
		}},
		"deadline": {Steps: []pipeline.Step{
			timeoutStep(300 * time.Millisecond),
			limitStep(limiter.Config{Count: 1, Period: time.Second, Burst: 1, Wait: 5 * time.Second, Queue: 2}),
		}},
		"hedge": {Steps: []pipeline.Step{
			timeoutStep(10 * time.Second),
			retryStep(2, time.Second),
			hedgeStep(hedge.Config{After: 200 * time.Millisecond, Max: 1}),
			bulkheadStep(bulkhead.Config{Concurrent: 3}),
			named("attempt", timeoutStep(2*time.Second)),
		}},
		"log": {Steps: []pipeline.Step{
			limitStep(limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: time.Second}),
			named("spacing", limitStep(limiter.Config{
				Algorithm: limiter.LeakyBucket, Count: 10, Period: time.Second, Wait: 150 * time.Millisecond, Queue: 100,
			})),
		}},
	}
}

func limitStep(cfg limiter.Config) pipeline.Step {
	return pipeline.Step{Config: cfg}
}

func timeoutStep(after time.Duration) pipeline.Step {
	return pipeline.Step{Config: timeout.Config{After: after}}
}

// readSample returns the lines of a sample.
func readSample(t *testing.T, name string) []string {
	t.Helper()
	file, err := os.Open(samples + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var lines []string
	for scan := bufio.NewScanner(file); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	return lines
}

// parseEvent reads the form of events that the samples and these tests use. It
// reads no policies.
func parseEvent(t *testing.T, line string) Event {
	t.Helper()
	var raw struct {
		At, Op, Key, Outcome string
		ID                   json.RawMessage
		Cost                 *uint32
		Attempt              int
		Attributes           map[string]string
		Deadline             *string
		RetryAfter           *string `json:"retry_after"`
	}
	if err := json.Unmarshal([]byte(line), &raw); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	span := func(text *string) *int64 {
		if text == nil {
			return nil
		}
		d, err := time.ParseDuration(*text)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		n := int64(d)
		return &n
	}
	e := Event{
		At: *span(&raw.At), Op: raw.Op, ID: string(raw.ID), Key: raw.Key, Cost: 1, Attributes: raw.Attributes,
		Deadline: span(raw.Deadline), Attempt: raw.Attempt, Outcome: raw.Outcome, RetryAfter: span(raw.RetryAfter),
	}
	if raw.Cost != nil {
		e.Cost = *raw.Cost
	}
	return e
}
