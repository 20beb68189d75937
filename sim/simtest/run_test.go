package simtest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim/simtest"
)

// TestMistakesEndTheTest has what a test does wrong, and the message.
func TestMistakesEndTheTest(t *testing.T) {
	good := strings.Replace(outage, "STEP", "timeout: 1s", 1)
	for name, c := range map[string]struct {
		test func(t testing.TB)
		want string
	}{
		"file":    {func(t testing.TB) { simtest.Load(t, "testdata/none.yaml") }, "none.yaml"},
		"YAML":    {func(t testing.TB) { simtest.Parse(t, "{") }, "YAML"},
		"setting": {func(t testing.TB) { simtest.Parse(t, strings.Replace(good, "servers", "serves", 1)) }, "serves"},
		"client": {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).Client("wep") },
			`the scenario has no client "wep"; it has web, batch`},
		"service": {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).Service("x") },
			`the scenario has no service "x"; it has vendor, other`},
		"percentile": {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).RequireMaxLatency(0, time.Second) },
			"allowed: above 0, at most 100"},
		"goal":   {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).RequireGoal("web.ok") }, "no comparison"},
		"figure": {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).RequireGoal("web.okay > 1") }, "web.okay"},
		"fault": {func(t testing.TB) {
			simtest.Run(t, simtest.Parse(t, good)).Client("batch").RequireRecovers(time.Second)
		}, "no fault"},
		"breaker": {func(t testing.TB) { simtest.Run(t, simtest.Parse(t, good)).RequireOpensWithin(time.Second) },
			"client web: no breaker"},
		"end": {func(t testing.TB) {
			short := strings.Replace(good, "timeout: 1s", "breaker: {window: {calls: 900}, open: 1s}", 1)
			simtest.Run(t, simtest.Parse(t, short)).Client("web").RequireOpensWithinCalls(10_000)
		}, "does not open until the scenario ends"},
	} {
		message, _ := failure(t, c.test)
		assert.Contains(t, message, c.want, name)
	}
}

// TestFailureIsTheSameTwice compares the messages of two runs of a test.
func TestFailureIsTheSameTwice(t *testing.T) {
	test := func(t testing.TB) {
		s := simtest.Parse(t, strings.Replace(outage, "STEP", "retry: {attempts: 4}", 1))
		simtest.Run(t, s, simtest.Seeds(4, 5)).RequireMaxAmplification(1.2)
	}
	first, _ := failure(t, test)
	second, _ := failure(t, test)
	assert.Equal(t, first, second)
	assert.Contains(t, first, "seed 4\n")
}

// TestPolicyFileIsInsideTheReport runs a scenario whose policy is in a file of its own:
// the scenario of the report needs no other file.
func TestPolicyFileIsInsideTheReport(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	write("policy.yaml", "version: 1\npolicies:\n  vendor: {steps: [{retry: {attempts: 4}}]}\n")
	for name, own := range map[string]string{"file": "", "both": "policies: {other: {steps: [{timeout: 1s}]}}\n"} {
		scenario := write(name+".yaml", "version: 1\nduration: 10s\n"+own+"policy_file: policy.yaml\n"+
			"clients: [{name: web, to: vendor, policy: vendor, arrivals: {poisson: 50/s}}]\n"+
			"services: [{name: vendor, time: 10ms, fail: 50%}]\n")
		reports := filepath.Join(dir, "reports", name)
		message, _ := failure(t, func(t testing.TB) {
			simtest.Run(t, simtest.Load(t, scenario), simtest.Reports(reports)).RequireMaxAmplification(1)
		})
		report := filepath.Join(reports, "TestFake", "scenario.yaml")
		assert.Contains(t, message, "sluice simulate "+report+" --seed 1")
		src, err := os.ReadFile(report)
		require.NoError(t, err)
		assert.Contains(t, string(src), "retry", string(src))
		assert.NotContains(t, string(src), "policy_file")
		message, _ = failure(t, func(t testing.TB) {
			simtest.Run(t, simtest.Load(t, report)).RequireMaxAmplification(1)
		})
		assert.NotEmpty(t, message)
	}
}

// TestRequestsAreCountedExactly has arrivals at the ends of windows: a window is half
// open, so that two requests a second apart are not in one of a second.
func TestRequestsAreCountedExactly(t *testing.T) {
	s := func(t testing.TB) *simtest.Runs {
		return simtest.Run(t, simtest.Parse(t, `version: 1
duration: 10s
clients:
  - {name: web, to: vendor, arrivals: {constant: 1/s}}
  - {name: batch, to: vendor, arrivals: {steps: [{for: 2500ms, constant: 1/10s}, {for: 1s, bursts: {size: 2, every: 10s}}]}}
services: [{name: vendor, time: 1ms}]
`))
	}
	for _, c := range []struct {
		client string
		limit  int
		window time.Duration
		want   string
	}{
		{"web", 1, time.Second, ""},
		{"web", 1, time.Second + 1, "found:    service vendor: 2 from 0s on"},
		{"web", 0, time.Second, "found:    service vendor: 1 from 0s on"},
		{"batch", 2, time.Second, ""},
		{"batch", 1, time.Nanosecond, "found:    service vendor: 2 from 2.5s on"},
		{"", 3, 500 * time.Millisecond, ""},
		{"", 3, 500*time.Millisecond + 1, ""},
		{"", 2, 500*time.Millisecond + 1, "found:    service vendor: 3 from 2s on"},
	} {
		message, _ := failure(t, func(t testing.TB) {
			runs := s(t)
			if c.client != "" {
				runs = runs.Client(c.client)
			}
			runs.RequireNeverExceeds(c.limit, c.window)
		})
		if c.want == "" {
			assert.Empty(t, message, "%+v", c)
		} else {
			assert.Contains(t, message, c.want+"\n", "%+v", c)
		}
	}
}

// TestLatencyIsExact compares percentiles of ten known latencies.
func TestLatencyIsExact(t *testing.T) {
	// Ten calls at once wait for one another: 10ms, 20ms and so on.
	s := `version: 1
duration: 1s
clients: [{name: web, to: vendor, arrivals: {bursts: {size: 10, every: 10s}}}]
services: [{name: vendor, time: 10ms}]
`
	for percentile, want := range map[float64]time.Duration{
		50: 50 * time.Millisecond, 90: 90 * time.Millisecond, 91: 100 * time.Millisecond, 100: 100 * time.Millisecond, 1: 10 * time.Millisecond,
	} {
		message, _ := failure(t, func(t testing.TB) { simtest.Run(t, simtest.Parse(t, s)).RequireMaxLatency(percentile, want) })
		assert.Empty(t, message, percentile)
		message, _ = failure(t, func(t testing.TB) { simtest.Run(t, simtest.Parse(t, s)).RequireMaxLatency(percentile, want-1) })
		assert.Contains(t, message, "found:    client web: "+want.String()+"\n", percentile)
	}
}

// TestReportKeepsTexts has texts that look like other values: in the scenario of the
// report they are texts, too.
func TestReportKeepsTexts(t *testing.T) {
	message, dir := failure(t, func(t testing.TB) {
		simtest.Run(t, simtest.Parse(t, `version: 1
duration: 5s
policies: {p: {steps: [{limit: {rate: 1/s, per: key}}]}}
clients:
  - {name: web, to: vendor, policy: p, attributes: {tier: "12", other: "true"}, key: {weights: {"1": 1, "null": 2}}, arrivals: {constant: 2/s}}
services: [{name: vendor, time: 1ms}]
`)).RequireFair(1)
	})
	assert.Contains(t, message, "fairness")
	again, _ := failure(t, func(t testing.TB) {
		simtest.Run(t, simtest.Load(t, filepath.Join(dir, "scenario.yaml"))).RequireFair(1)
	})
	assert.Contains(t, again, "fairness")
}
