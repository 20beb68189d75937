package sweep_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/scenario"
	"github.com/sluice-go/sluice/sim/sweep"
)

const source = `
version: 1
duration: 5m
clients:
  - {name: web, to: api, arrivals: {poisson: 80/s}}
services:
  - {name: api, queue: 50, time: {exponential: 10ms}}
`

// vary returns the scenario with some settings changed.
func vary(settings []edit.Setting) (*sim.Scenario, error) {
	root, errs := policy.Tree("s.yaml", []byte(source))
	if len(errs) > 0 {
		return nil, errs
	}
	for _, s := range settings {
		if err := edit.Set(root, s); err != nil {
			return nil, err
		}
	}
	return scenario.Read("s.yaml", root, nil, nil)
}

func TestAxes(t *testing.T) {
	for text, want := range map[string][]string{
		"a=1,2, 5":              {"1", "2", "5"},
		"a=10..50/s by 20":      {"10/s", "30/s", "50/s"},
		"a=1..20 x 3":           {"1", "3", "9"},
		"a=100ms..200ms by 50":  {"100ms", "150ms", "200ms"},
		"a=0.1..0.4 by 0.1":     {"0.1", "0.2", "0.3", "0.4"},
		"a=1..10":               {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"},
		"a=200ms..1s by 400ms":  {"200ms", "600ms", "1s"},
		"a=5..5":                {"5"},
		"a=100..200/s":          {"100/s", "111/s", "122/s", "133/s", "144/s", "156/s", "167/s", "178/s", "189/s", "200/s"},
		"a=2..4":                {"2", "3", "4"},
		"a=0.5..0.95":           {"0.5", "0.55", "0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"},
		"a={exponential: 1ms}":  {"{exponential: 1ms}"},
		"a={uniform: [1,2]},5s": {"{uniform: [1,2]}", "5s"},
	} {
		axis, err := sweep.ParseAxis(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, axis.Values, text)
	}
	for _, text := range []string{"a", "=1", "a=", "a=5..1", "a=1..x", "a=1..5 by 0", "a=1..5 x 1", "a=1s..5m", "a=1..5 by 2s"} {
		_, err := sweep.ParseAxis(text)
		assert.ErrorContains(t, err, "allowed", text)
	}
}

// TestSweep compares a sweep over the rate with the theory of M/M/1: the number in the
// system is r/(1-r), and the confidence intervals belong to a mean.
func TestSweep(t *testing.T) {
	axis, err := sweep.ParseAxis("clients.web.arrivals.poisson=20..60/s by 20")
	require.NoError(t, err)
	done := 0
	s := sweep.Sweep{
		Scenario: vary, Axes: []sweep.Axis{axis}, Seed: 1, Seeds: 12, Figures: []string{"api.in_system", "clients.web.recovery"},
		Progress: func(now, all int) { done++; assert.Equal(t, done, now); assert.Equal(t, 36, all) },
	}
	table, err := s.Run()
	require.NoError(t, err)
	assert.Equal(t, 36, done)
	assert.Equal(t, []string{"services.api.in_system", "clients.web.recovery"}, table.Figures)
	for i, load := range []float64{0.2, 0.4, 0.6} {
		e := table.Points[i].Figures[0]
		assert.Equal(t, 12, e.N)
		assert.InDelta(t, load/(1-load), e.Mean, 3*e.Half)
		assert.Greater(t, e.Half, 0.0)
		assert.Less(t, e.Half, 0.1*e.Mean)
		none := table.Points[i].Figures[1]
		assert.True(t, math.IsNaN(none.Mean))
		assert.Zero(t, none.N)
		assert.Equal(t, map[sim.Verdict]int{sim.Steady: 12}, table.Points[i].Verdicts)
	}
	s.Progress = nil
	again, err := s.Run()
	require.NoError(t, err)
	assert.Equal(t, table.Points[2].Figures[0], again.Points[2].Figures[0], "runs at once change nothing")
}

func TestTwoAxes(t *testing.T) {
	s := sweep.Sweep{
		Scenario: vary, Seed: 1, Seeds: 1, Figures: []string{"clients.web.ok"},
		Axes: []sweep.Axis{{Path: "services.api.servers", Values: []string{"1", "2"}}, {Path: "services.api.queue", Values: []string{"0", "1", "5"}}},
	}
	table, err := s.Run()
	require.NoError(t, err)
	require.Len(t, table.Points, 6)
	assert.Equal(t, []string{"1", "5"}, table.Points[2].Values)
	assert.Equal(t, []string{"2", "0"}, table.Points[3].Values)
	for i := 1; i < 6; i++ {
		if i != 3 {
			assert.Greater(t, table.Points[i].Figures[0].Mean, table.Points[i-1].Figures[0].Mean)
		}
	}
}

func TestSweepErrors(t *testing.T) {
	for want, s := range map[string]sweep.Sweep{
		"one or two":                         {},
		"found no app in clients":            {Axes: []sweep.Axis{{Path: "clients.app.cost", Values: []string{"1"}}}},
		"services[0].servers: found":         {Axes: []sweep.Axis{{Path: "services.api.servers", Values: []string{"1", "x"}}}},
		"bad: found no figure of this name;": {Axes: []sweep.Axis{{Path: "services.api.servers", Values: []string{"1"}}}, Figures: []string{"bad"}},
	} {
		s.Scenario, s.Seeds = vary, 1
		_, err := s.Run()
		assert.ErrorContains(t, err, want)
	}
}

func goals(t *testing.T, texts ...string) (list []goal.Goal) {
	t.Helper()
	for _, text := range texts {
		g, err := goal.Parse(text)
		require.NoError(t, err)
		list = append(list, g)
	}
	return list
}

// TestTuneTriesAll: with few combinations the search tries all of them, so that it finds
// the fewest servers with which the goals are met.
func TestTuneTriesAll(t *testing.T) {
	one := sweep.Tuning{
		Scenario: vary, Seed: 1, Seeds: 3, Tries: 100, Best: "services.api.utilization",
		Axes:  []sweep.Axis{{Path: "services.api.servers", Values: []string{"0", "1", "2", "3", "4"}}},
		Goals: goals(t, "clients.web.ok>=95%", "clients.web.latency.p99<60ms"),
	}
	outcome, err := one.Run()
	require.NoError(t, err)
	assert.True(t, outcome.All)
	assert.True(t, outcome.Found())
	assert.Equal(t, 12, outcome.Runs)
	assert.Equal(t, "2", outcome.Tries[0].Settings[0].Value)
	assert.Equal(t, []int{3, 3}, outcome.Tries[0].Met)
	last := outcome.Tries[4]
	assert.ErrorContains(t, last.Bad, "services[0].servers", "a value that is not accepted is the worst")
	assert.Greater(t, outcome.Tries[3].Missed, 0.0)
}

// TestTuneClimbs: with many combinations a tenth of them suffices to find one that
// meets the goals.
func TestTuneClimbs(t *testing.T) {
	servers, err := sweep.ParseAxis("services.api.servers=1..20 by 1")
	require.NoError(t, err)
	queue, err := sweep.ParseAxis("services.api.queue=0..190 by 10")
	require.NoError(t, err)
	one := sweep.Tuning{
		Scenario: vary, Seed: 5, Seeds: 1, Tries: 40, Axes: []sweep.Axis{servers, queue}, Best: "services.api.utilization",
		Goals: goals(t, "clients.web.ok>=99.9%"),
	}
	outcome, err := one.Run()
	require.NoError(t, err)
	assert.False(t, outcome.All)
	assert.Len(t, outcome.Tries, 40)
	require.True(t, outcome.Found())
	assert.Equal(t, "1", outcome.Tries[0].Settings[0].Value, "one server with a long queue is the most used")
	again, err := one.Run()
	require.NoError(t, err)
	assert.Equal(t, outcome.Tries[0].Settings, again.Tries[0].Settings)

	impossible := one
	impossible.Goals = goals(t, "clients.web.latency.p50<1us")
	outcome, err = impossible.Run()
	require.NoError(t, err)
	assert.False(t, outcome.Found())
}
