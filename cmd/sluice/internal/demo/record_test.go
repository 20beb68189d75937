package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestPercentile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{nil, 50, None},
		{hundred[:1], 50, 1},
		{hundred[:1], 99, 1},
		{hundred[:2], 50, 1},
		{hundred[:3], 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
		{hundred[:99], 99, 99},
		{hundred[:10], 99, 10},
	} {
		require.Equal(t, c.want, percentile(c.sorted, c.p), "p%d of %d", c.p, len(c.sorted))
	}
}

func TestFold(t *testing.T) {
	log := Log{
		Calls: []Call{
			{At: 0, Took: 10 * ms, Result: Good},
			{At: 99 * ms, Took: 1 * ms, Result: Good}, // ends at the beginning of the second bin
			{At: 120 * ms, Took: 30 * ms, Result: Failed},
			{At: 130 * ms, Took: 5 * ms, Result: Refused, Why: "breaker: open"},
			{At: 140 * ms, Took: 5 * ms, Result: Refused, Why: "breaker: open"},
			{At: 199 * ms, Took: 1 * ms, Result: Good}, // ends after the last bin
		},
		Attempts: []Attempt{{0, 1}, {120 * ms, 1}, {125 * ms, 2}, {200 * ms, 3}},
		Gauges:   []Gauge{{0, 3}, {50 * ms, 7}, {100 * ms, 0}},
	}
	bins := log.fold(200*ms, 2)
	require.Equal(t, []Bin{
		{From: 0, To: 100 * ms, Offered: 2, Good: 1, Refused: map[string]int{}, Attempts: 1, P50: 10 * ms, P99: 10 * ms, Waiting: 7},
		{From: 100 * ms, To: 200 * ms, Offered: 4, Good: 1, Failed: 1, Refused: map[string]int{"breaker: open": 2}, Attempts: 2,
			Retries: 1, P50: 5 * ms, P99: 30 * ms},
	}, bins)
	require.Equal(t, 2, bins[1].AllRefused())
	require.InDelta(t, 20, bins[1].PerSecond(2), 1e-9)

	empty := (&Log{}).fold(time.Second, 3)
	require.Len(t, empty, 3)
	require.Equal(t, None, empty[2].P99)
	// What does not divide evenly is cut at the end.
	require.Len(t, log.fold(200*ms+1, 3), 3)
}

func TestSpans(t *testing.T) {
	require.Equal(t, []Span{{0, 100, closed}}, spans(nil, 100))
	changes := []Change{
		{10, "breaker", open},
		{20, "other", halfOpen}, // the first one is stricter
		{30, "breaker", halfOpen},
		{40, "breaker", closed},
		{50, "other", closed},
		{200, "breaker", open},
	}
	require.Equal(t, []Span{{0, 10, closed}, {10, 30, open}, {30, 50, halfOpen}, {50, 100, closed}}, spans(changes, 100))
	require.Equal(t, closed, breakerAt(changes, 9))
	require.Equal(t, open, breakerAt(changes, 10))
	require.Equal(t, open, breakerAt(changes, time.Hour))
}
