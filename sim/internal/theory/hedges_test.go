package theory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
)

// times are service times whose tails differ as much as tails of services do.
var times = []struct{ name, time string }{
	{"exponential", "{exponential: 20ms}"},
	{"lognormal", "{lognormal: {median: 20ms, sigma: 1}}"},
	{"Pareto", "{pareto: {scale: 10ms, shape: 1.5}}"},
	{"two modes, few slow", "{hyperexponential: [[98, 20ms], [2, 500ms]]}"},
	{"two modes, many slow", "{hyperexponential: [[90, 20ms], [10, 500ms]]}"},
}

// extra returns the share of calls that have another attempt.
func extra(t *testing.T, rate int, steps, time string, seed uint64) float64 {
	t.Helper()
	r, err := sim.Run(parse(t, fmt.Sprintf(`version: 1
		duration: 16m
		warmup: 1m
		policies: {p: {steps: [%s]}}
		clients: [{name: web, to: api, policy: p, arrivals: {poisson: %d/1s}}]
		services: [{name: api, servers: 10000, time: %s}]`, steps, rate, time)), sim.Options{Seed: seed, Seeded: true, Parts: 1})
	require.NoError(t, err)
	c := &r.Clients[0]
	return float64(c.Attempts)/float64(c.Calls) - 1
}

// A hedge after a percentile of the times adds what it says: after p95 one attempt for
// twenty calls, whatever the times are and however many of them are in flight at once. The
// nearest rank of few samples is a little low: the 95th of 100 is exceeded by 6 of 101.
func TestPercentilesAddTheirShare(t *testing.T) {
	for _, c := range times {
		for _, rate := range []int{20, 200} {
			t.Run(fmt.Sprint(c.name, " ", rate), func(t *testing.T) {
				t.Parallel()
				for _, h := range []struct {
					steps       string
					least, most float64
				}{
					{"{hedge: {after: p95}}", 0.04, 0.06},
					{"{hedge: {after: p95, samples: 1000}}", 0.045, 0.055},
				} {
					if got := extra(t, rate, h.steps, c.time, 1); got < h.least || got > h.most {
						t.Errorf("%s: %.2f %% of the calls have another attempt, not %g to %g %%", h.steps, 100*got, 100*h.least, 100*h.most)
					}
				}
			})
		}
	}
}
