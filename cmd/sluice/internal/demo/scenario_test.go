package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPhases(t *testing.T) {
	s := NewScenario(1, 15*time.Second)
	for _, c := range []struct {
		at       time.Duration
		phase    Phase
		capacity float64
	}{
		{0, Healthy, 200},
		{4*time.Second - 1, Healthy, 200},
		{4 * time.Second, Failing, 0},
		{5 * time.Second, Slow, 50},
		{9 * time.Second, Healed, 200},
		{time.Hour, Healed, 200},
	} {
		require.Equal(t, c.phase, s.Phase(c.at), c.at)
		require.InDelta(t, c.capacity, s.Capacity(c.phase), 1e-9)
	}
	end := time.Duration(0)
	for p := Healthy; p <= Healed; p++ {
		from, to := s.span(p)
		require.Equal(t, end, from)
		require.Equal(t, p, s.Phase(from))
		end = to
	}
	require.Equal(t, s.Duration, end)
}

// The workload must bring the side with no policy down, and must not bring it up again.
func TestLoads(t *testing.T) {
	s := NewScenario(1, DefaultDuration)
	require.Less(t, s.Rate, s.Capacity(Healthy)*0.75, "healthy: room for stalls")
	require.Greater(t, s.Rate, s.Capacity(Slow)*1.5, "slow: too much")
	require.Greater(t, s.Rate*float64(s.Attempts), s.Capacity(Healed)*1.5, "healed: the retries alone are too much")
	wait := time.Duration(float64(s.Queue) / s.Capacity(Healed) * float64(time.Second))
	require.Greater(t, wait, 2*s.Patience, "healed: a full queue is too long to wait")
}

// All that a call may take is over when the run is, whichever side makes it.
func TestDrain(t *testing.T) {
	s := NewScenario(1, DefaultDuration)
	require.Equal(t, 17*time.Second, s.Total())
	require.GreaterOrEqual(t, s.Drain, s.Patience*time.Duration(s.Attempts), "no policy")
	require.GreaterOrEqual(t, s.Drain, s.Deadline, "by hand")
	first := defaultPolicy(t).Steps[0]
	require.Equal(t, "timeout", first.Kind().String())
	require.Contains(t, string(DefaultPolicy), "- timeout: "+s.Drain.String()+" ", "the policy")
}

// TestByHandBudget spends and saves a budget of two retries.
func TestByHandBudget(t *testing.T) {
	s := NewScenario(1, DefaultDuration)
	s.Saved, s.Budget = 2, 0.5
	h := newByHand(nil, s)
	require.True(t, h.spend())
	require.True(t, h.spend())
	require.False(t, h.spend())
	h.save()
	require.False(t, h.spend(), "half a retry")
	for range 10 {
		h.save()
	}
	require.True(t, h.spend())
	require.True(t, h.spend())
	require.False(t, h.spend(), "no more than two are saved")
}

func TestArrivals(t *testing.T) {
	s := NewScenario(7, DefaultDuration)
	all := s.Arrivals()
	require.InDelta(t, s.Rate*s.Duration.Seconds(), float64(len(all)), 50)
	require.Equal(t, all, s.Arrivals())
	require.NotEqual(t, all, NewScenario(8, DefaultDuration).Arrivals())
	for i, at := range all {
		require.Less(t, at, s.Duration)
		if i > 0 {
			require.Greater(t, at, all[i-1])
		}
	}
}

func TestWork(t *testing.T) {
	s := NewScenario(7, DefaultDuration)
	var sum time.Duration
	faults := 0
	const calls = 20_000
	for id := range calls {
		takes, fails := s.Work(id, 1, 0)
		again, failsAgain := s.Work(id, 1, 0)
		require.Equal(t, takes, again)
		require.Equal(t, fails, failsAgain)
		slow, _ := s.Work(id, 1, s.SlowAt)
		require.Equal(t, takes*time.Duration(s.Factor), slow)
		require.Less(t, slow, s.Patience)
		_, fails = s.Work(id, 1, s.FailAt)
		require.True(t, fails)
		sum += takes
		if failsAgain {
			faults++
		}
	}
	require.InDelta(t, s.Service.Seconds(), (sum / calls).Seconds(), 0.001)
	require.InDelta(t, s.Fault, float64(faults)/calls, 0.003)
}
