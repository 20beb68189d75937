package cli

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const storm = `
version: 1
seed: 3
duration: 2m
warmup: 10s
policies:
  vendor: {steps: [{timeout: 500ms}, {retry: {attempts: 3, backoff: {exponential: 20ms}}}]}
clients:
  - {name: web, to: api, arrivals: {poisson: 50/s}, policy: vendor}
  - {name: batch, to: api, arrivals: {closed: {users: 2, think: 100ms}}, policy: vendor}
services:
  - {name: api, servers: 4, time: {exponential: 20ms}, faults: [{at: 1m, for: 5s, fail: 50%}]}
`

// scenarioFile writes a scenario and returns its name.
func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestSimulate(t *testing.T) {
	file := scenarioFile(t, storm)
	code, first, stderr := runArgs("", "simulate", "--json", file)
	require.Equal(t, ExitOK, code, stderr)
	var result struct {
		Seed    uint64
		Clients map[string]struct{ Calls, Refused int }
	}
	require.NoError(t, json.Unmarshal([]byte(first), &result))
	assert.EqualValues(t, 3, result.Seed)
	assert.InDelta(t, 50*110, result.Clients["web"].Calls, 300)

	_, again, _ := runArgs(storm, "simulate", "--json", "-")
	assert.Equal(t, first, again)
	_, other, _ := runArgs("", "simulate", "--json", "--seed", "4", file)
	assert.NotEqual(t, first, other)
	_, faster, _ := runArgs("", "simulate", "--json", "--set", "clients.web.arrivals.poisson=100/s", file)
	assert.NotEqual(t, first, faster)
}

// TestSimulateWritesReports: a table where no JSON is asked for, a page with all
// documents, and a picture, the same each time.
func TestSimulateWritesReports(t *testing.T) {
	file := scenarioFile(t, strings.Replace(storm, "policies:\n  vendor: {steps: [{timeout: 500ms}, {retry: {attempts: 3, backoff: {exponential: 20ms}}}]}", "policy_file: vendor.yaml", 1))
	dir := filepath.Dir(file)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "vendor.yaml"),
		[]byte("version: 1\npolicies:\n  vendor: {steps: [{timeout: 500ms}, {breaker: {window: {consecutive: 50}}}]}\n"), 0o644))
	page, picture := filepath.Join(dir, "page.html"), filepath.Join(dir, "picture.svg")
	line := []string{"simulate", "--set", "services.api.faults[0].fail=60%", "--html", page, "--svg", picture, "--lane",
		"api system", "--lane", "web calls", file}
	code, table, stderr := runArgs("", line...)
	require.Equal(t, ExitOK, code, stderr)
	assert.Empty(t, stderr)
	assert.Regexp(t, `(?s)^scenario: recovered\n.*\nclient web calls api: recovered\n  calls +5,\d+ .*\nservice api\n`, table)
	assert.NotContains(t, table, "\x1b")
	first := read(t, page)
	for _, part := range []string{"services.api.faults[0].fail=60%", "{consecutive: 50}", "poisson: 50/s",
		"--seed 3 --set &#39;services.api.faults[0].fail=60%&#39; --html"} {
		assert.Contains(t, first, part)
	}
	drawn := read(t, picture)
	assert.Less(t, strings.Index(drawn, "api: servers and queue"), strings.Index(drawn, "web: calls a second"))
	_, again, _ := runArgs("", line...)
	assert.Equal(t, table, again)
	assert.Equal(t, first, read(t, page))
	assert.Equal(t, drawn, read(t, picture))
}

func TestSimulatePreset(t *testing.T) {
	code, stdout, stderr := runArgs("", "simulate", "--json", "--require", "verdict == metastable", "preset:retry-storm")
	assert.Equal(t, ExitOK, code, stderr)
	assert.Contains(t, stdout, `"verdict":"metastable"`)
	code, stdout, stderr = runArgs("", "simulate", "preset:retry-strom")
	assert.Equal(t, ExitBad, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, `preset: found "retry-strom"; allowed: adaptive-limit, `)
	_, stdout, _ = runArgs("", "__complete", "simulate", "preset:retry")
	assert.Equal(t, "preset:retry-storm\npreset:retry-storm-cured\n:4\n", stdout)
}

// TestSimulateLogIsWhatEvalPrints: with the policy and the seed that simulate names.
func TestSimulateLogIsWhatEvalPrints(t *testing.T) {
	file := scenarioFile(t, storm)
	dir := filepath.Dir(file)
	log, events, policy := filepath.Join(dir, "log"), filepath.Join(dir, "events"), filepath.Join(dir, "policy.yaml")
	code, _, stderr := runArgs("", "simulate", "--json", "--client", "batch", "--log", log, "--events", events, file)
	require.Equal(t, ExitOK, code, stderr)
	const seed = "72057594037927939" // 3 + 2^56: batch is the second client
	assert.Equal(t, "sluice: eval decides these events with --seed "+seed+"\n", stderr)
	require.NoError(t, os.WriteFile(policy, []byte("version: 1\npolicies:\n"+storm[strings.Index(storm,
		"  vendor"):strings.Index(storm, "clients:")]), 0o644))
	code, decided, stderr := runArgs("", "eval", "--policy", policy, "--seed", seed, events)
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, read(t, log), decided)
	assert.Contains(t, decided, `"decision":"retry"`)
}

func TestSimulateRequires(t *testing.T) {
	file := scenarioFile(t, storm)
	code, _, stderr := runArgs("", "simulate", "--json", "--require", "web.ok>=90%", "--require", "verdict!=metastable", file)
	assert.Equal(t, ExitOK, code, stderr)
	code, stdout, stderr := runArgs("", "simulate", "--json", "--require", "web.ok>=90%", "--require", "web.latency.p50<1us", file)
	assert.Equal(t, ExitUnmet, code)
	assert.Regexp(t, `^sluice: not met: web\.latency\.p50<1us; found 0\.\d+, with the seed 3\n$`, stderr)
	assert.NotEmpty(t, stdout, "the result is printed all the same")
}

func TestSimulateErrors(t *testing.T) {
	file := scenarioFile(t, storm)
	bad := scenarioFile(t, strings.Replace(storm, "to: api", "to: apy", 1))
	for _, c := range []struct{ want, line string }{
		{bad + `:9:21: clients[0].to: found the text "apy"; allowed the name of a service of this scenario; did you mean api?`,
			"simulate " + bad},
		{"sluice: client: several clients have a policy; allowed: web, batch", "simulate --log /dev/null " + file},
		{"sluice: client: found app; allowed: web, batch", "simulate --log /dev/null --client app " + file},
		{"sluice: --require x: found no figure of this name; allowed: the paths of the result", "simulate --require x<1 " + file},
		{`sluice: --require "x": found no comparison`, "simulate --require x " + file},
		{"sluice: --set found \"x\"; allowed: PATH=VALUE", "simulate --set x " + file},
		{"sluice: clients.app.cost: found no app in clients; allowed: web, batch", "simulate --set clients.app.cost=1 " + file},
		{"sluice: --lane needs --svg FILE", "simulate --lane x " + file},
		{"sluice: --lane: found x; allowed: api requests, api system, batch active, ", "simulate --svg x.svg --lane x " + file},
		{"sluice: cannot write /nowhere/x.html: no such file", "simulate --html /nowhere/x.html " + file},
		{"sluice: cannot read nothing.yaml: no such file", "simulate nothing.yaml"},
		{"sluice: cannot write /nowhere/log: no such file", "simulate --client web --log /nowhere/log " + file},
		{"sluice: sweep needs one --vary, or two, found 0", "sweep " + file},
		{"sluice: --vary found", "sweep --vary x " + file},
		{"sluice: --seeds: found 0; allowed: 1 to 100000", "sweep --seeds 0 --vary seed=1 " + file},
		{"sluice: nothing: found no figure", "sweep --seeds 1 --show nothing --vary warmup=1s " + file},
		{file + ":4:11: duration: found the text", "sweep --seeds 1 --vary duration=1x " + file},
		{"sluice: tune needs --vary PATH=VALUES", "tune " + file},
		{"sluice: tune needs --goal, --most or --least", "tune --vary seed=1 " + file},
		{"sluice: --most and --least exclude each other", "tune --vary seed=1 --most a --least b " + file},
		{"sluice: --tries: found 0", "tune --vary seed=1 --most a --tries 0 " + file},
	} {
		code, stdout, stderr := runArgs("", strings.Fields(c.line)...)
		assert.Equal(t, ExitBad, code, c.line)
		assert.Empty(t, stdout, c.line)
		assert.Contains(t, stderr, c.want, c.line)
	}
}

func TestSweepPrintsTables(t *testing.T) {
	file := scenarioFile(t, storm)
	code, stdout, stderr := runArgs("", "sweep", "--seeds", "3", "--vary", "services.api.servers=1,4", "--show", "api.utilization",
		"--show", "web.recovery", file)
	require.Equal(t, ExitOK, code, stderr)
	assert.Regexp(t, `^ +services\.api\.servers +api\.utilization +web\.recovery +verdict\n +1 +\S+ ±\S+ +\S.*\n +4 +0\.\d+ ±\S+ .*\nMeans of 3 seeds, with 95 % confidence intervals\. Times are seconds\.\n$`, stdout)
	code, stdout, stderr = runArgs("", "sweep", "--seeds", "1", "--vary", "services.api.servers=1,4", "--vary", "warmup=0s,5s,10s",
		"--show", "api.utilization", file)
	require.Equal(t, ExitOK, code, stderr)
	assert.Regexp(t, `^services\.api\.utilization: services\.api\.servers down, warmup across\n +0s +5s +10s +\n +1( +\S+ ██){3}\n +4( +0\.\d+ ··){3}\n`, stdout)
	code, stdout, _ = runArgs("", "sweep", "--json", "--seeds", "2", "--vary", "services.api.servers=1,4", file)
	require.Equal(t, ExitOK, code)
	var table struct {
		Points []struct {
			Values  map[string]string
			Figures map[string]struct{ Mean, Half *float64 }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &table))
	require.Len(t, table.Points, 2)
	assert.Equal(t, "4", table.Points[1].Values["services.api.servers"])
	assert.Contains(t, table.Points[1].Figures, "clients.batch.latency.p99")
}

func TestSweepDraws(t *testing.T) {
	file, picture := scenarioFile(t, storm), filepath.Join(t.TempDir(), "sweep.svg")
	for _, vary := range [][]string{{"services.api.servers=1,4"}, {"services.api.servers=1,4", "warmup=0s,5s"}} {
		args := []string{"sweep", "--seeds", "2", "--svg", picture, "--show", "api.utilization", "--show", "web.recovery"}
		for _, one := range vary {
			args = append(args, "--vary", one)
		}
		code, _, stderr := runArgs("", append(args, file)...)
		require.Equal(t, ExitOK, code, stderr)
		drawn, err := os.ReadFile(picture)
		require.NoError(t, err)
		require.NoError(t, xml.Unmarshal(drawn, new(struct{})))
		for _, figure := range []string{">services.api.utilization<", ">clients.web.recovery<", ">4<"} {
			assert.Contains(t, string(drawn), figure)
		}
	}
	code, _, stderr := runArgs("", "sweep", "--seeds", "1", "--vary", "services.api.servers=1", "--svg", filepath.Join(picture, "no"), file)
	assert.Equal(t, ExitBad, code)
	assert.Contains(t, stderr, "sweep.svg")
}

func TestTunePrintsTheBest(t *testing.T) {
	file := scenarioFile(t, storm)
	args := []string{"tune", "--seeds", "1", "--vary", "services.api.servers=1..6 by 1", "--goal", "web.latency.p99<200ms", "--most",
		"api.utilization"}
	code, stdout, stderr := runArgs("", append(args, file)...)
	require.Equal(t, ExitOK, code, stderr)
	assert.Regexp(t, `(?s)\nBest: --set 'services\.api\.servers=\d'\n$`, stdout)
	assert.Contains(t, stdout, "6 combinations were tried, which are all, in 6 runs.\n")
	code, stdout, _ = runArgs("", append(args, "--json", file)...)
	require.Equal(t, ExitOK, code)
	var outcome struct {
		Found bool
		Tries []struct{ Missed float64 }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &outcome))
	assert.True(t, outcome.Found)
	assert.Len(t, outcome.Tries, 6)
	code, stdout, _ = runArgs("", append(args, "--goal", "web.latency.p50<1us", file)...)
	assert.Equal(t, ExitUnmet, code)
	assert.Contains(t, stdout, "None meets all goals with every seed.\n")
}

func TestScenarioSchema(t *testing.T) {
	code, stdout, _ := run("", "schema --scenario")
	require.Equal(t, ExitOK, code)
	assert.Contains(t, stdout, `"title": "Sluice scenario"`)
	code, _, stderr := run("", "schema --scenario limit")
	assert.Equal(t, ExitBad, code)
	assert.Contains(t, stderr, "takes no SETTING")
}

// TestDiffOnAScenario: without retries a client has fewer attempts, and the difference
// is certain after few seeds, as both have the same arrivals.
func TestDiffOnAScenario(t *testing.T) {
	file := scenarioFile(t, storm)
	write := func(name, steps string) string {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte("version: 1\npolicies:\n  vendor: {steps: ["+steps+"]}\n"), 0o644))
		return file
	}
	before := write("before.yaml", "{timeout: 500ms}, {retry: {attempts: 3, backoff: {exponential: 20ms}}}")
	after := write("after.yaml", "{timeout: 500ms}")
	code, stdout, stderr := runArgs("", "diff", before, after, "--scenario", file, "--client", "web", "--seeds", "4", "--show",
		"web.amplification", "--show", "web.recovery")
	require.Equal(t, ExitOK, code, stderr)
	assert.Regexp(t, `\n +clients\.web\.amplification +1\.0\d+ ±\S+ +1 ±0 +-0\.0\d+ ±0\.00\d+\n`, stdout)
	assert.Contains(t, stdout, "Means of 4 seeds, the same for both")

	code, stdout, stderr = runArgs("", "diff", before, before, "--scenario", file, "--client", "web", "--seeds", "2", "--json")
	require.Equal(t, ExitOK, code, stderr)
	var same struct {
		Seed    uint64
		Figures map[string]struct{ Difference struct{ Mean, Half *float64 } }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &same))
	assert.EqualValues(t, 3, same.Seed, "the scenario's")
	assert.Zero(t, *same.Figures["clients.web.goodput"].Difference.Mean)
	assert.Zero(t, *same.Figures["clients.batch.latency.p99"].Difference.Half)

	for want, words := range map[string][]string{
		"several clients have a policy; allowed: web, batch": {before, after, "--scenario", file},
		"needs --trace RECORDING or --scenario SCENARIO":     {before, after},
		"--trace and --scenario exclude each other":          {before, after, "--trace", "x", "--scenario", file},
		"--seeds: found 0":       {before, after, "--seeds", "0", "--scenario", file},
		"found no figure":        {before, after, "--client", "web", "--show", "x", "--scenario", file},
		`there is no policy "x"`: {before + ":x", after, "--client", "web", "--scenario", file},
	} {
		code, _, stderr := runArgs("", append([]string{"diff"}, words...)...)
		assert.Equal(t, ExitBad, code, words)
		assert.Contains(t, stderr, want, words)
	}
}
