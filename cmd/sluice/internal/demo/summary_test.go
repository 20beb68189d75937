package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is an invented run: all sides are healthy until the brown-out; then with
// no policy all fails to the end, by hand all fails until two seconds after the
// brown-out, and with the policy one in four is answered, and all again afterwards.
func sample() View {
	s := NewScenario(1, DefaultDuration)
	v := View{Scenario: s, Now: s.Duration}
	without, hand, with := &v.Logs[Without], &v.Logs[ByHand], &v.Logs[With]
	for i, at := range s.Arrivals() {
		good := Call{At: at, Took: 40 * ms, Result: Good}
		if at < s.FailAt || at >= s.HealAt+2*time.Second {
			hand.add(good, 1)
		} else {
			hand.add(Call{At: at, Took: 500 * ms, Result: Failed}, 1+i%10/9)
		}
		switch s.Phase(at) {
		case Healthy:
			without.add(good, 1)
			with.add(good, 1)
		case Healed:
			without.add(Call{At: at, Took: 1500 * ms, Result: Failed}, 3)
			with.add(good, 1)
		default:
			without.add(Call{At: at, Took: 1500 * ms, Result: Failed}, 3)
			switch i % 4 {
			case 0:
				with.add(Call{At: at, Took: 200 * ms, Result: Good}, 2)
			case 1:
				with.add(Call{At: at, Took: 1 * ms, Result: Refused, Why: "breaker: open"}, 0)
			default:
				with.add(Call{At: at, Took: 150 * ms, Result: Refused, Why: "bulkhead: wait"}, 0)
			}
		}
	}
	without.Gauges, hand.Gauges, with.Gauges = []Gauge{{s.SlowAt, 256}}, []Gauge{{s.SlowAt, 200}}, []Gauge{{s.SlowAt, 4}}
	without.Served, without.Wasted = 1000, 640
	hand.Served, hand.Wasted = 900, 360
	with.Served = 900
	with.Changes = []Change{{s.FailAt + 100*ms, "breaker ", open}, {s.SlowAt, "breaker ", halfOpen}, {s.SlowAt + 50*ms, "breaker ", closed}}
	return v
}

// add records a call with its attempts.
func (l *Log) add(c Call, attempts int) {
	l.Calls = append(l.Calls, c)
	for n := range attempts {
		l.Attempts = append(l.Attempts, Attempt{c.At, n + 1})
	}
	l.Late = append(l.Late, 2*ms)
}

func TestSummarise(t *testing.T) {
	v := sample()
	sums := v.Summaries()
	naive, guarded := sums[Without], sums[With]
	require.Equal(t, len(v.Scenario.Arrivals()), naive.Offered)
	require.Equal(t, naive.Offered, naive.Good+naive.Failed)
	require.Equal(t, guarded.Offered, guarded.Good+guarded.Refused)
	require.Equal(t, []string{"bulkhead: wait", "breaker: open"}, reasons(&sums))
	require.Equal(t, guarded.Refused, guarded.Reasons[0].Times+guarded.Reasons[1].Times)
	require.InDelta(t, 120, naive.Goodput[Healthy], 2)
	require.InDelta(t, 30, guarded.Goodput[Slow], 2)
	require.InDelta(t, 120, guarded.Goodput[Healed], 2)
	require.InDelta(t, 360, naive.Peak, 40)
	require.InDelta(t, 0.64, naive.Wasted, 1e-9)
	require.Equal(t, 40*ms, guarded.GoodP50)
	require.Equal(t, 200*ms, guarded.GoodP99)
	require.Equal(t, 1500*ms, naive.AllP99)
	require.Equal(t, None, naive.RefusedP99)
	require.False(t, naive.Recovered)
	require.True(t, guarded.Recovered)
	require.Zero(t, guarded.Recovery)
	require.InDelta(t, 2, sums[ByHand].Recovery.Seconds(), 0.11)

	nothing := Summarise(v.Scenario, &Log{})
	require.Equal(t, None, nothing.GoodP50)
	require.Zero(t, nothing.PerCall)
	require.False(t, nothing.Recovered)
}

func TestRecovery(t *testing.T) {
	s := NewScenario(1, DefaultDuration)
	run := func(good func(time.Duration) bool) (time.Duration, bool) {
		var calls []Call
		for _, at := range s.Arrivals() {
			calls = append(calls, Call{At: at, Result: map[bool]Result{true: Good, false: Failed}[good(at)]})
		}
		return recovery(s, calls)
	}
	after, ok := run(func(at time.Duration) bool { return at > s.HealAt+2*time.Second })
	require.True(t, ok)
	require.InDelta(t, 2, after.Seconds(), 0.11)

	_, ok = run(func(at time.Duration) bool { return at < s.HealAt+time.Second })
	require.False(t, ok, "well for a second, then no more")
}

func TestFindings(t *testing.T) {
	v := sample()
	sums := v.Summaries()
	text := func() string {
		var all []string
		for _, f := range Findings(v.Scenario, &sums) {
			all = append(all, f.Text)
		}
		return strings.Join(all, " ")
	}
	require.Contains(t, text(), "metastable")
	require.Contains(t, text(), "With the policy it takes less than 0.1s")
	require.Contains(t, text(), "64% of the work of the service was for such requests")
	require.Contains(t, text(), "40% of the work of the service was for such requests")
	require.Contains(t, text(), "By hand it takes 2.0s")

	sums[Without].Recovered, sums[Without].Recovery = true, 2*time.Second
	sums[ByHand].Recovered, sums[ByHand].Wasted = false, 0.05
	sums[With].Recovered = false
	sums[With].Refused, sums[With].Reasons = 0, nil
	require.NotContains(t, text(), "metastable")
	require.Contains(t, text(), "well again after 2.0s")
	require.Contains(t, text(), "With the policy it does not come back")
	require.Contains(t, text(), "By hand it does not come back")
	require.NotContains(t, text(), "5% of the work")
	require.Contains(t, text(), "turned no call away")
}

func TestBusy(t *testing.T) {
	var sums [Sides]Summary
	require.Empty(t, Busy(&sums))
	sums[With].Late = 300 * ms
	require.Contains(t, Busy(&sums), "300ms late")
}
