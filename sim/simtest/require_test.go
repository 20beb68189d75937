package simtest_test

import (
	"encoding/json"
	"errors"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/simtest"
)

// storm is a service that is slow for a while, and whose callers try again.
const storm = `version: 1
seed: 3
duration: 2m
warmup: 5s
policies:
  vendor:
    steps:
      - STEP
      - timeout: 200ms
clients:
  - {name: web, to: vendor, policy: vendor, arrivals: {poisson: 42/s}}
services:
  - name: vendor
    servers: 3
    time: {constant: 50ms}
    faults:
      - {at: 30s, for: 5s, slow: 4}
`

// outage is a service that fails for a while.
const outage = `version: 1
duration: 60s
policies:
  vendor:
    steps:
      - STEP
clients:
  - {name: web, to: vendor, policy: vendor, arrivals: {poisson: 42/s}}
  - {name: batch, to: other, arrivals: {constant: 1/s}}
services:
  - name: vendor
    servers: 20
    time: {exponential: 20ms}
    faults:
      - {at: 20s, for: 10s, fail: 80%}
  - {name: other, time: 10ms}
`

// load is a client that sends more than a service can do.
const load = `version: 1
duration: 30s
policies:
  vendor:
    steps:
      - STEP
clients:
  - name: web
    to: vendor
    policy: vendor
    key: {weights: {large: 9, small: 1}}
    arrivals: {steps: [{for: 5s, constant: 20/s}, {for: 20s, poisson: 300/s}, {for: 5s, constant: 20/s}]}
services:
  - {name: vendor, servers: 10, time: {constant: 50ms}}
`

// cases has a policy that breaks each requirement, and one that meets it.
var cases = []struct {
	name, scenario string
	bad, good      string
	require        func(*simtest.Runs)
}{
	{"steady", outage,
		"retry: {attempts: 2, backoff: {constant: 10ms}}",
		"retry: {attempts: 20, backoff: {constant: 10ms}}",
		func(r *simtest.Runs) { r.RequireSteady() }},
	{"metastable", storm,
		"retry: {attempts: 5, backoff: {constant: 10ms}}",
		"retry: {attempts: 5, backoff: {constant: 10ms}, budget: {ratio: 10%, minimum: 1/s}}",
		func(r *simtest.Runs) { r.RequireNotMetastable() }},
	{"recovers", storm,
		"retry: {attempts: 3, backoff: {constant: 10ms}}",
		"breaker: {window: {calls: 50}, open: 1s}",
		func(r *simtest.Runs) { r.RequireRecovers(10 * time.Second) }},
	{"goodput", outage,
		"retry: {attempts: 2, backoff: {constant: 10ms}}",
		"retry: {attempts: 20, backoff: {constant: 10ms}}",
		func(r *simtest.Runs) { r.Client("web").RequireGoodput(0.95) }},
	{"amplification", outage,
		"retry: {attempts: 4, backoff: {exponential: 10ms}}",
		"retry: {attempts: 4, backoff: {exponential: 10ms}, budget: 10%}",
		func(r *simtest.Runs) { r.RequireMaxAmplification(1.2) }},
	{"latency", load,
		"limit: {rate: 250/s, burst: 50}",
		"limit: {rate: 190/s, burst: 10}",
		func(r *simtest.Runs) { r.RequireMaxLatency(99, 100*time.Millisecond) }},
	{"fair", load,
		"limit: {rate: 100/s, per: key}",
		"limit: {rate: 100/s}",
		func(r *simtest.Runs) { r.RequireFair(0.95) }},
	{"refusals", load,
		"limit: {rate: 200/s, burst: 100}",
		"limit: {rate: 400/s, burst: 100}",
		func(r *simtest.Runs) { r.RequireNoRefusals("limit") }},
	{"opens", outage,
		"breaker: {window: {calls: 1000}, minimum: 200, failure_rate: 50%, open: 5s}",
		"breaker: {window: {calls: 20}, minimum: 10, failure_rate: 50%, open: 5s}",
		func(r *simtest.Runs) { r.Client("web").RequireOpensWithin(2 * time.Second) }},
	{"opens-calls", outage,
		"breaker: {window: {calls: 100}, minimum: 20, failure_rate: 95%, open: 5s}",
		"breaker: {window: {calls: 20}, minimum: 10, failure_rate: 50%, open: 5s}",
		func(r *simtest.Runs) { r.Client("web").RequireOpensWithinCalls(30) }},
	{"closed", outage,
		"breaker: {window: {consecutive: 5}, open: 5s}",
		"breaker: {window: {calls: 1000}, minimum: 1000, failure_rate: 90%, open: 5s}",
		func(r *simtest.Runs) { r.RequireStaysClosed() }},
	{"exceeds", load,
		"limit: {algorithm: fixed-window, rate: 100/1s}",
		"limit: {algorithm: sliding-log, rate: 100/1s}",
		func(r *simtest.Runs) { r.Service("vendor").RequireNeverExceeds(100, time.Second) }},
	{"waste", storm,
		"retry: {attempts: 3, backoff: {constant: 10ms}}",
		"breaker: {window: {calls: 50}, open: 1s}",
		func(r *simtest.Runs) { r.RequireMaxWaste(0.1) }},
	{"goal", load,
		"limit: {rate: 250/s, burst: 50}",
		"limit: {rate: 190/s, burst: 10}",
		func(r *simtest.Runs) { r.RequireGoal("services.vendor.wait.p99 < 50ms") }},
	{"that", load,
		"limit: {rate: 250/s, burst: 50}",
		"limit: {rate: 190/s, burst: 10}",
		func(r *simtest.Runs) {
			r.RequireThat("a server is free", func(r *sim.Result) error {
				if r.Services[0].InSystem > 10 {
					return errors.New("requests wait on average")
				}
				return nil
			})
		}},
}

// TestRequirements shows that each requirement fails on a policy that breaks it, with
// a message that is a file of testdata, and holds on one that meets it.
func TestRequirements(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			message, dir := failure(t, func(t testing.TB) {
				c.require(simtest.Run(t, simtest.Parse(t, strings.Replace(c.scenario, "STEP", c.bad, 1))))
			})
			golden(t, filepath.Join("failures", c.name+".txt"), message)
			require.NotEmpty(t, message)

			// The files of the report say the same, and the scenario among them fails.
			var report simtest.Report
			src, err := os.ReadFile(filepath.Join(dir, "report.json"))
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(src, &report))
			again, _ := failure(t, func(t testing.TB) {
				c.require(simtest.Run(t, simtest.Load(t, filepath.Join(dir, "scenario.yaml"))))
			})
			assert.Contains(t, again, "found:    "+report.ShrunkenFound+"\n")
			events, err := os.ReadFile(filepath.Join(dir, "events.txt"))
			require.NoError(t, err)
			assert.Equal(t, strings.Join(report.Events, "\n")+"\n", string(events))

			page, err := os.ReadFile(filepath.Join(dir, "report.html"))
			require.NoError(t, err)
			assert.Contains(t, string(page), "<title>"+html.EscapeString(report.Required))

			message, _ = failure(t, func(t testing.TB) {
				c.require(simtest.Run(t, simtest.Parse(t, strings.Replace(c.scenario, "STEP", c.good, 1)), simtest.SeedRange(1, 3)))
			})
			assert.Empty(t, message)
		})
	}
}
