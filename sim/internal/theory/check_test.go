package theory_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/scenario"
)

// seeds is how many seeds a case runs, from 1 on.
const seeds = 30

// quantity is a number of a result that theory knows.
type quantity struct {
	name string
	want float64
	of   func(*sim.Result) float64
}

// theorem is a scenario and what is known about it.
type theorem struct {
	name, scenario string
	quantities     []quantity
	// mutant changes the scenario so that a quantity differs. nil makes services 5 %
	// slower.
	mutant func(*sim.Scenario)
}

// samples simulates a scenario under the seeds from 1 to n and returns the
// quantities.
func (c *theorem) samples(t *testing.T, s *sim.Scenario, n uint64) [][]float64 {
	t.Helper()
	samples := make([][]float64, len(c.quantities))
	for seed := range n {
		r, err := sim.Run(s, sim.Options{Seed: seed + 1, Seeded: true, Parts: 1})
		require.NoError(t, err)
		for i, q := range c.quantities {
			samples[i] = append(samples[i], q.of(r))
		}
	}
	return samples
}

// estimate is the mean of samples and its standard error.
type estimate struct{ mean, err float64 }

func estimateOf(samples []float64) (e estimate) {
	n := float64(len(samples))
	for _, x := range samples {
		e.mean += x / n
	}
	for _, x := range samples {
		e.err += (x - e.mean) * (x - e.mean) / (n - 1) / n
	}
	e.err = math.Sqrt(e.err)
	return e
}

// differs reports whether an estimate is not within 2 % and three standard errors of
// theory. A quantity that no seed changes has an error of 0, and rounding.
func (e estimate) differs(theory float64) bool {
	off := math.Abs(e.mean - theory)
	return off > 0.02*theory || off > 3*e.err+1e-9*theory
}

// vague reports whether three standard errors are more than 2 % of theory, so that
// the comparison would hold for many values.
func (e estimate) vague(theory float64) bool { return 3*e.err > 0.02*theory }

func (e estimate) describe(theory float64) string {
	return fmt.Sprintf("%.6g, theory %.6g: %+.2f %%, standard error %.2f %%", e.mean, theory, 100*(e.mean/theory-1), 100*e.err/theory)
}

// check checks cases and their mutants.
func check(t *testing.T, cases []theorem) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for i, samples := range c.samples(t, parse(t, c.scenario), seeds) {
				q, e := c.quantities[i], estimateOf(samples)
				if e.differs(q.want) || e.vague(q.want) {
					t.Errorf("seeds 1 to %d: %s %s", seeds, q.name, e.describe(q.want))
				}
			}
			mutant, found := parse(t, c.scenario), false
			if c.mutant != nil {
				c.mutant(mutant)
			} else {
				slower(mutant)
			}
			for i, samples := range c.samples(t, mutant, seeds/3) {
				found = found || estimateOf(samples).differs(c.quantities[i].want)
			}
			if !found {
				t.Error("the check holds on the mutant, too")
			}
		})
	}
}

// hour is a scenario of an hour after five minutes, of policies, clients and services.
func hour(rest string) string {
	return "version: 1\nduration: 65m\nwarmup: 5m\n" + rest
}

// parse reads a scenario. Lines may begin with tabs, for the indentation of Go.
func parse(t testing.TB, text string) *sim.Scenario {
	t.Helper()
	s, err := sim.Parse("theory.yaml", []byte(strings.ReplaceAll(text, "\t", "")), nil)
	require.NoError(t, err)
	return s
}

func slower(s *sim.Scenario) {
	for i := range s.Services {
		d := &s.Services[i].Time
		switch d.Kind {
		case scenario.Hyperexponential:
			for k := range d.Means {
				d.Means[k] *= 1.05
			}
		case scenario.UniformDist:
			d.B *= 1.05
		}
		d.A *= 1.05
	}
}

// Quantities of the only client and the only service.

func inSystem(want float64) quantity {
	return quantity{"in system", want, func(r *sim.Result) float64 { return r.Services[0].InSystem }}
}

func utilization(want float64) quantity {
	return quantity{"utilization", want, func(r *sim.Result) float64 { return r.Services[0].Utilization }}
}

// wait is the mean wait of requests at the service, in seconds.
func wait(want float64) quantity {
	return quantity{"wait", want, func(r *sim.Result) float64 { return r.Services[0].Wait.Mean / 1e9 }}
}

// latency is the mean latency of calls, in seconds.
func latency(want float64) quantity {
	return quantity{"latency", want, func(r *sim.Result) float64 { return r.Clients[0].Latency.Mean / 1e9 }}
}

func percentile90(want float64) quantity {
	return quantity{"p90", want, func(r *sim.Result) float64 { return r.Clients[0].Latency.P90.Seconds() }}
}

func percentile99(want float64) quantity {
	return quantity{"p99", want, func(r *sim.Result) float64 { return r.Clients[0].Latency.P99.Seconds() }}
}

// dropped is the share of requests that find no place.
func dropped(want float64) quantity {
	return quantity{"dropped", want, func(r *sim.Result) float64 {
		return float64(r.Services[0].Dropped) / float64(r.Services[0].Arrived)
	}}
}

// goodput is ok calls a second.
func goodput(want float64) quantity {
	return quantity{"goodput", want, func(r *sim.Result) float64 { return r.Clients[0].Goodput }}
}

func amplification(want float64) quantity {
	return quantity{"amplification", want, func(r *sim.Result) float64 { return r.Clients[0].Amplification }}
}

// share is a share of the calls.
func share(name string, want float64, of func(*sim.ClientResult) uint64) quantity {
	return quantity{name, want, func(r *sim.Result) float64 {
		return float64(of(&r.Clients[0])) / float64(r.Clients[0].Calls)
	}}
}

func admitted(want float64) quantity {
	return share("admitted", want, func(c *sim.ClientResult) uint64 { return c.OK })
}

func refused(want float64) quantity {
	return share("refused", want, func(c *sim.ClientResult) uint64 { return c.Refused })
}

func failed(want float64) quantity {
	return share("failed", want, func(c *sim.ClientResult) uint64 { return c.Failed })
}
