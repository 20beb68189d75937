package demo

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
)

// TestSimulate tells the story: without a policy the service does not come back, by hand
// it comes back late, with the policy at once.
func TestSimulate(t *testing.T) {
	s := NewScenario(1, DefaultDuration)
	var out strings.Builder
	v, err := Simulate(t.Context(), s, defaultPolicy(t), &Plain{Out: &out}, 0)
	require.NoError(t, err)
	assert.True(t, v.Simulated)
	assert.Equal(t, 2+15, strings.Count(out.String(), "\n"), "a line for each second below two of heading")

	sums := v.Summaries()
	for side, m := range sums {
		assert.InDelta(t, s.Rate*s.Duration.Seconds(), m.Offered, 30, Side(side))
		assert.Equal(t, m.Offered, m.Good+m.Failed+m.Refused)
		assert.Equal(t, sums[With].Offered, m.Offered, "all sides have the same calls")
		assert.Equal(t, None, m.Late)
	}
	assert.False(t, sums[Without].Recovered)
	assert.Greater(t, sums[Without].PerCall, 2.0)
	assert.Greater(t, sums[Without].Wasted, 0.3)
	assert.Equal(t, s.Queue, sums[Without].Queue)
	assert.True(t, sums[ByHand].Recovered)
	assert.Greater(t, sums[ByHand].Recovery, time.Second)
	assert.True(t, sums[With].Recovered)
	assert.Less(t, sums[With].Recovery, time.Second)
	assert.Greater(t, sums[With].Goodput[Slow], 0.8*s.Capacity(Slow))
	assert.Less(t, sums[With].Queue, 10)
	assert.NotEmpty(t, v.Logs[With].Changes)
	assert.Empty(t, v.Logs[ByHand].Changes)

	var again strings.Builder
	_, err = Simulate(t.Context(), s, defaultPolicy(t), &Plain{Out: &again}, 0)
	require.NoError(t, err)
	assert.Equal(t, out.String(), again.String())
}

// TestSimulateEndsWithItsContext: the pauses between views end, too.
func TestSimulateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Simulate(ctx, NewScenario(1, DefaultDuration), defaultPolicy(t), &Plain{Out: &strings.Builder{}}, time.Hour)
	assert.ErrorContains(t, err, "interrupted after 1s")
}

// TestDocuments: the scenarios are ones that sluice simulate reads, for any duration.
func TestDocuments(t *testing.T) {
	for _, duration := range []time.Duration{MinDuration, DefaultDuration, 7 * time.Second, MaxDuration} {
		s := NewScenario(3, duration)
		for side := range Sides {
			one, err := sim.Parse("demo.yaml", []byte(s.Document(Side(side))), nil)
			require.NoError(t, err)
			assert.Equal(t, s.Total(), one.Duration)
		}
	}
}

func TestPageOfASimulation(t *testing.T) {
	v, err := Simulate(t.Context(), NewScenario(1, DefaultDuration), defaultPolicy(t), &Plain{Out: &strings.Builder{}}, 0)
	require.NoError(t, err)
	var page strings.Builder
	require.NoError(t, WritePage(&page, &Report{View: v, Policy: defaultPolicy(t), Document: "x", Version: "v"}))
	assert.Contains(t, page.String(), "simulated in virtual time")
	assert.NotContains(t, page.String(), "measured on real HTTP")
}
