package demo

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
)

func defaultPolicy(t *testing.T) *policy.Policy {
	t.Helper()
	doc, err := policy.Parse("policy.yaml", DefaultPolicy)
	require.NoError(t, err)
	return &doc.Policies[0]
}

// settled waits until the goroutines of a run have ended. Some end a moment after
// the run.
func settled(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			require.Failf(t, "goroutines are left", "%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// TestRun is the whole demonstration in short. The machine may be busy, so that
// little can be said of its numbers.
func TestRun(t *testing.T) {
	before := runtime.NumGoroutine()
	s := NewScenario(1, MinDuration)
	var out strings.Builder
	v, err := Run(context.Background(), s, defaultPolicy(t), &Plain{Out: &out})
	require.NoError(t, err)
	settled(t, before)
	require.GreaterOrEqual(t, strings.Count(out.String(), "\n"), 3)

	sums := v.Summaries()
	for side, m := range sums {
		require.Equal(t, len(s.Arrivals()), m.Offered, Side(side))
		require.Equal(t, m.Offered, m.Good+m.Failed+m.Refused)
		require.Len(t, v.Logs[side].Late, m.Offered)
		require.Positive(t, m.Good)
		require.Positive(t, m.Failed+m.Refused+m.Retries, "a brown-out is felt")
		require.LessOrEqual(t, m.Attempts, s.Attempts*m.Offered)
		require.NotEmpty(t, v.Logs[side].Gauges)
	}
	require.Zero(t, sums[Without].Refused)
	require.Zero(t, sums[ByHand].Refused)
	require.Empty(t, v.Logs[Without].Changes)
	require.Less(t, sums[With].Attempts, sums[Without].Attempts)
	require.Len(t, Rows(s, &sums), 15+len(reasons(&sums)))
	require.NoError(t, WritePage(io.Discard, &Report{View: v, Policy: defaultPolicy(t)}))
}

// TestRunKeepsItsTime has a policy that lets most calls wait for hours.
func TestRunKeepsItsTime(t *testing.T) {
	doc, err := policy.Parse("a.yaml", []byte("version: 1\npolicies: {a: {steps: [limit: {rate: 1/1h, wait: 2000h, queue: 1000}]}}"))
	require.NoError(t, err)
	s := NewScenario(1, MinDuration/5)
	s.Drain = s.Duration
	v, err := Run(context.Background(), s, &doc.Policies[0], stopping{func() error { return nil }})
	require.NoError(t, err)
	sum := v.Summaries()[With]
	require.Equal(t, len(s.Arrivals()), sum.Offered)
	require.LessOrEqual(t, sum.Good, 1)
	require.Equal(t, sum.Offered, sum.Good+sum.Failed, "calls that wait at the end have failed")
}

// stopping is a display that ends the run at its first view.
type stopping struct {
	stop func() error
}

func (stopping) Every() time.Duration { return time.Millisecond }
func (s stopping) Show(View) error    { return s.stop() }

func TestRunEndsEarly(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, NewScenario(1, MaxDuration), defaultPolicy(t), stopping{func() error {
		cancel()
		return nil
	}})
	require.ErrorContains(t, err, "interrupted after ")
	settled(t, before)

	_, err = Run(context.Background(), NewScenario(1, MaxDuration), defaultPolicy(t), stopping{func() error { return errBroken }})
	require.ErrorIs(t, err, errBroken)
	settled(t, before)
}
