package edit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/scenario"
)

const source = `
version: 1
duration: 1m
policies:
  vendor: {steps: [{timeout: 1s}, {retry: 3}, {limit: {rate: 10/s}}, {limit: {rate: 9/s, name: fast}}]}
clients:
  - {name: web, to: api, arrivals: {poisson: 100/s}, policy: vendor}
services:
  - {name: api, time: 10ms}
`

func read(t *testing.T, settings ...string) (*scenario.Scenario, error) {
	t.Helper()
	root, errs := policy.Tree("s.yaml", []byte(source))
	require.Empty(t, errs)
	for _, text := range settings {
		s, err := edit.ParseSetting(text)
		require.NoError(t, err)
		if err := edit.Set(root, s); err != nil {
			return nil, err
		}
	}
	return scenario.Read("s.yaml", root, nil, nil)
}

func TestSet(t *testing.T) {
	s, err := read(t, "clients[0].arrivals.poisson=250/s", "services.api.servers=7", "services.api.time={exponential: 20ms}",
		"policies.vendor.steps.retry=5", "policies.vendor.steps[0].timeout=3s", "policies.vendor.steps.limit.rate=20/s", "policies.vendor.steps.fast.rate=30/s", "seed=9")
	require.NoError(t, err)
	assert.EqualValues(t, 250, s.Clients[0].Arrivals.Phases[0].Count)
	assert.EqualValues(t, 7, s.Services[0].Servers)
	assert.Equal(t, scenario.Exponential, s.Services[0].Time.Kind)
	assert.EqualValues(t, 9, s.Seed)
	steps := s.Policies[0].Steps
	assert.EqualValues(t, 20, steps[2].Config.(limiter.Config).Count)
	assert.EqualValues(t, 30, steps[3].Config.(limiter.Config).Count)
}

func TestWrongPaths(t *testing.T) {
	for text, want := range map[string]string{
		"clients.app.cost=2":            "found no app in clients; allowed: web",
		"clients[3].cost=2":             "found no 3 in clients; allowed: web",
		"policies.api.steps.retry=5":    "found no api in policies; allowed: vendor",
		"policies.vendor.steps.hedge=1": "found no hedge in policies.vendor.steps; allowed: timeout, retry, limit, limit",
		"version.x=1":                   "found no x in version; allowed: no names below a single value",
		"duration={":                    "allowed: a value in YAML or JSON",
		"a..b=1":                        "allowed: names with dots",
		"clients[0.cost=1":              "allowed: a bracket that ends",
	} {
		_, err := read(t, text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := edit.ParseSetting("x")
	assert.ErrorContains(t, err, "allowed: PATH=VALUE")
	_, err = read(t, "services.api.color=red")
	assert.ErrorContains(t, err, `services[0].color: found the unknown name "color"`)
}
