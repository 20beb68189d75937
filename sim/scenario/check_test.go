package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/scenario"
)

// TestCheck breaks a scenario by hand in each way that Read refuses.
func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*scenario.Scenario){
		"Duration: found 0s":              func(s *scenario.Scenario) { s.Duration = 0 },
		"Warmup: found 20s":               func(s *scenario.Scenario) { s.Warmup = s.Duration },
		"Services: found none":            func(s *scenario.Scenario) { s.Services = nil },
		"Clients: found none":             func(s *scenario.Scenario) { s.Clients = nil },
		"Clients[0].To: found 7":          func(s *scenario.Scenario) { s.Clients[0].To = 7 },
		"Clients[0].Arrivals: found none": func(s *scenario.Scenario) { s.Clients[0].Arrivals.Phases = nil },
		"Clients[1].Arrivals.Users":       func(s *scenario.Scenario) { s.Clients[1].Arrivals.Users = 1 << 30 },
		"Clients[0].Arrivals.Phases[0]":   func(s *scenario.Scenario) { s.Clients[0].Arrivals.Phases[0].Period = 0 },
		"Clients[0].Arrivals.Phases[4]":   func(s *scenario.Scenario) { s.Clients[0].Arrivals.Phases[4].Size = 0 },
		"Clients[0].Key":                  func(s *scenario.Scenario) { s.Clients[0].Key.Count = 5 },
		"Clients[0].Attributes[0].Values": func(s *scenario.Scenario) { s.Clients[0].Attributes[0].Values.Count = 0 },
		"Clients[0].Attributes: found 20": func(s *scenario.Scenario) { s.Clients[0].Attributes = make([]scenario.Attribute, 20) },
		"Clients[0].Policy: ": func(s *scenario.Scenario) {
			s.Clients[0].Policy = &document.Policy{Policy: pipeline.Policy{Steps: make([]pipeline.Step, 1)}}
		},
		"Clients[0]: found a distribution":  func(s *scenario.Scenario) { s.Clients[0].Cost.B = -1 },
		"Services[0].Servers: found 0":      func(s *scenario.Scenario) { s.Services[0].Servers = 0 },
		"Services[0].Drift.Every":           func(s *scenario.Scenario) { s.Services[0].Drift.Every = 0 },
		"Services[0].Calls[0].To: found -1": func(s *scenario.Scenario) { s.Services[0].Calls[0].To = -1 },
		"found a call back":                 func(s *scenario.Scenario) { s.Services[1].Calls = []scenario.Edge{{To: 0}} },
		"Services[0].Faults[0].At":          func(s *scenario.Scenario) { s.Services[0].Faults[0].At = -time.Second },
		"Services[1]: found a distribution": func(s *scenario.Scenario) { s.Services[1].Time.Table = nil },
		"Services[2].Cache: found":          func(s *scenario.Scenario) { s.Services[2].Cache.Hit = scenario.Dist{Kind: scenario.Pareto, A: 1} },
	} {
		s, err := sim.Load("../testdata/good/everything.yaml")
		require.NoError(t, err)
		require.NoError(t, s.Check())
		change(s)
		assert.ErrorContains(t, s.Check(), want)
		_, err = sim.Run(s, sim.Options{})
		assert.ErrorContains(t, err, want)
	}
}
