package breaker_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// TestCountsAfter draws histories: the counts after a record, foretold before it, are the
// counts of the state where the record does not change the mode, and reach a rate where it
// opens the breaker. Neither question changes the state.
func TestCountsAfter(t *testing.T) {
	const seed = 7
	opened := 0
	for _, c := range []breaker.Config{
		{Window: breaker.Calls, Count: 5, Minimum: 3, FailureRate: reducer.Percent(60), SlowOver: 3, SlowRate: reducer.Percent(70), Probes: 3},
		{Window: breaker.Time, Count: 3, Span: 30, Minimum: 4, FailureRate: reducer.Percent(50), SlowOver: 4, SlowRate: reducer.Percent(50), Probes: 2, HalfOpenMax: 9},
		{Window: breaker.Consecutive, Count: 3, Probes: 2},
		{Window: breaker.Consecutive, Count: 3, Forget: 5, Probes: 2},
	} {
		c.Open = backoff.Config{Kind: backoff.Constant, Base: 10}
		maker, err := breaker.Cells(c)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(seed, uint64(c.Window)))
		x, now, out := maker.New(0), clock.Mark(0), reducer.Out{}
		var permits []reducer.Permit
		for range 3_000 {
			now = now.Add(time.Duration(r.IntN(4)))
			if len(permits) == 0 || r.IntN(2) == 0 {
				if a := x.Step(reducer.Action{Kind: reducer.Acquire}, now, &out); a.Verdict == reducer.Admit {
					permits = append(permits, a.Permit)
				}
				continue
			}
			i := r.IntN(len(permits))
			a := reducer.Action{Kind: reducer.Record, Outcome: reducer.Outcome(1 + r.IntN(6)), Permit: permits[i]}
			permits = append(permits[:i], permits[i+1:]...)
			before := x.AppendState(nil)
			counts, slow, ok := breaker.CountsAfter(x, a, now)
			breaker.At(x, now)
			require.Equal(t, before, x.AppendState(nil))
			x.Step(reducer.Action{Kind: reducer.Tick}, now.Add(-1), &out)
			out = out[:0]
			verdict := x.Step(a, now, &out).Verdict
			core, present, _ := breaker.At(x, now)
			switch {
			case !ok || verdict != reducer.Done:
			case core.Mode != breaker.CoreOf(x).Mode: // half-open ends at this mark, after the record
			case len(out) == 0:
				require.Equal(t, counts, present, "seed %d, %s", seed, core.Mode)
			case core.Mode == breaker.Open && c.Window != breaker.Consecutive:
				opened++
				require.Equal(t, slow, counts.FailureRate.Compare(c.FailureRate) < 0)
				if slow {
					require.GreaterOrEqual(t, counts.SlowRate.Compare(c.SlowRate), 0)
				}
			}
		}
	}
	assert.Greater(t, opened, 50)
}

func TestCountsOfTimePass(t *testing.T) {
	maker, err := breaker.Cells(breaker.Config{Window: breaker.Time, Count: 2, Span: 20, Minimum: 9, FailureRate: reducer.Percent(50), Probes: 1,
		Open: backoff.Config{Kind: backoff.Constant, Base: 10}})
	require.NoError(t, err)
	x, out := maker.New(0), reducer.Out{}
	p := x.Step(reducer.Action{Kind: reducer.Acquire}, 1, &out).Permit
	x.Step(reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail, Permit: p}, 2, &out)
	_, counts, _ := breaker.At(x, 3)
	assert.Equal(t, breaker.Counts{Calls: 1, Failed: 1, FailureRate: reducer.Percent(100)}, counts)
	_, counts, _ = breaker.At(x, 60)
	assert.Zero(t, counts)
	limit, err := limiter.Cells(limiter.Config{Count: 1, Period: 1})
	require.NoError(t, err)
	_, _, ok := breaker.At(limit.New(0), 0)
	assert.False(t, ok)
}
