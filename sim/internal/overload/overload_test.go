package overload_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/internal/overload"
)

// column returns the column of a name.
func column(t *testing.T, name string) overload.Column {
	t.Helper()
	for _, c := range overload.Columns() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no column %s", name)
	return overload.Column{}
}

// TestColumns holds the columns of few calls, on both sides. `go run ./sim/internal/overload/table`
// has all of them, and docs/mechanisms/adaptive.md the table.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		name  string
		least float64
		seeds int
	}{{"fifo 2x", 0.97, 1}, {"heavy tail 3x", 0.96, 1}, {"small 3x", 0.96, 6}, {"latency x3", 0.97, 1}, {"capacity/4", 0.95, 1}} {
		for _, side := range []overload.Side{overload.Service, overload.Client} {
			t.Run(fmt.Sprintf("%s at the %v", c.name, side), func(t *testing.T) {
				t.Parallel()
				column := column(t, c.name)
				f, err := column.Measure(side, "maximum: 1000", c.seeds)
				require.NoError(t, err)
				assert.Greater(t, f.Goodput, c.least)
				assert.True(t, f.Recovered)
			})
		}
	}
}

// TestNoLimit: without a limit no column of a queue recovers, so that the figures above are
// the figures of the limit.
func TestNoLimit(t *testing.T) {
	column := column(t, "fifo 2x")
	f, err := column.Measure(overload.Client, "initial: 10000, minimum: 10000, maximum: 10000", 1)
	require.NoError(t, err)
	assert.Less(t, f.Goodput, 0.1)
	assert.False(t, f.Recovered)
}

// TestHealthyService: errors that come in time, and a few calls that hang, starve nothing.
// Of calls that can succeed, 97 % do beside 1, 5 and 15 % failures and 96 % beside 30 %.
func TestHealthyService(t *testing.T) {
	for _, c := range []struct {
		name, service, steps string
		least                float64 // of all calls
	}{
		{"1 % fail", "servers: 200, time: {exponential: 50ms}, fail: 1%", "", 0.97 * 0.99},
		{"5 % fail", "servers: 200, time: {exponential: 50ms}, fail: 5%", "", 0.97 * 0.95},
		{"15 % fail", "servers: 200, time: {exponential: 50ms}, fail: 15%", "", 0.97 * 0.85},
		{"30 % fail", "servers: 200, time: {exponential: 50ms}, fail: 30%", "", 0.96 * 0.70},
		{"5 % hang", "servers: 200, time: {exponential: 50ms}", ", {chaos: {slow: {rate: 5%, by: 10s}}}", 0.93},
		{"15 % hang", "servers: 200, time: {exponential: 50ms}", ", {chaos: {slow: {rate: 15%, by: 10s}}}", 0.70},
		{"5 % hang at the servers", "servers: 200, abandon: true, time: {hyperexponential: [[95, 50ms], [5, 10s]]}", "", 0.93 * 0.95},
		{"15 % hang at the servers", "servers: 300, abandon: true, time: {hyperexponential: [[85, 50ms], [15, 10s]]}", "", 0.70},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := sim.Parse("healthy.yaml", fmt.Appendf(nil, `version: 1
duration: 25s
warmup: 5s
policies: {p: {steps: [{timeout: 500ms}, {adaptive: {maximum: 1000}}%s]}}
clients: [{name: web, to: api, policy: p, arrivals: {poisson: 2800/s}}]
services: [{name: api, %s}]
`, c.steps, c.service), nil)
			require.NoError(t, err)
			r, err := sim.Run(s, sim.Options{})
			require.NoError(t, err)
			web := r.Clients[0]
			assert.Greater(t, float64(web.OK)/float64(web.Calls), c.least)
		})
	}
}
