package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/scenario"
)

// A timeline may have so few parts that none is without warmup.
func TestVerdictOfFewParts(t *testing.T) {
	s, err := scenario.ParseJSON("test.json", []byte(`{"version": 1, "duration": "10s", "warmup": "9s",
		"clients": [{"name": "web", "to": "api", "arrivals": {"constant": "100/s"}}],
		"services": [{"name": "api", "time": "1ms"}]}`), nil)
	require.NoError(t, err)
	for parts := 1; parts <= 21; parts++ {
		r, err := engine.Run(s, engine.Options{Parts: parts})
		require.NoError(t, err)
		assert.Equal(t, engine.Steady, r.Verdict, "%d parts", parts)
		assert.Equal(t, 10*time.Second, r.Duration)
	}
}

func run(t *testing.T, text string) *engine.Result {
	t.Helper()
	s, err := scenario.ParseJSON("test.json", []byte(text), nil)
	require.NoError(t, err)
	r, err := engine.Run(s, engine.Options{})
	require.NoError(t, err)
	return r
}

// Calls that take long are not over at the end, which is not the end of goodput.
func TestVerdictOfLongCalls(t *testing.T) {
	r := run(t, `{"version": 1, "duration": "10m",
		"clients": [{"name": "web", "to": "api", "arrivals": {"constant": "10/s"}}],
		"services": [{"name": "api", "servers": 1000, "time": "20s",
			"faults": [{"at": "2m", "for": "30s", "fail": "100%"}]}]}`)
	assert.Equal(t, engine.Recovered, r.Verdict)
}

// More calls of another client are a cause that goes on; calls of a client that shares
// nothing, and calls that are made again, are none.
func TestVerdictOfLoadByOthers(t *testing.T) {
	for _, test := range []struct {
		name, more, repeats string
		want                engine.Verdict
	}{
		{"the same service", "api", "", engine.Degraded},
		{"a service that both call", "front", "", engine.Degraded},
		{"another service", "other", "", engine.Metastable},
		{"calls made again", "other", `, "repeats": {"times": 3, "wait": "1s"}`, engine.Metastable},
	} {
		r := run(t, `{"version": 1, "duration": "10m",
			"policies": {"p": {"steps": [{"retry": {"attempts": 4, "backoff": {"constant": "100ms"}}}, {"timeout": "500ms"}]}},
			"clients": [
				{"name": "web", "to": "api", "policy": "p", "arrivals": {"constant": "40/s"}`+test.repeats+`},
				{"name": "more", "to": "`+test.more+`", "arrivals": {"steps": [
					{"for": "2m", "constant": "1/s"}, {"for": "8m", "constant": "20/s"}]}}],
			"services": [
				{"name": "api", "time": "10ms", "faults": [{"at": "2m", "for": "10s", "servers": 0}]},
				{"name": "other", "servers": 100, "time": "10ms"},
				{"name": "front", "servers": 100, "time": "10ms", "calls": [{"to": "other"}, {"to": "api"}]}]}`)
		assert.Equal(t, test.want, r.Verdict, test.name)
	}
}

// A run in which most of the capacity is unused is not steady, however long it has been
// so; one whose services do what they can is.
func TestVerdictOfCapacity(t *testing.T) {
	for _, test := range []struct {
		name, arrivals, policy, service string
		want                            engine.Verdict
	}{
		{"a policy refuses 77 % of what is below the capacity", "700/s", `{"limit": {"rate": "160/s", "burst": 1}}`, `"servers": 50`, engine.Degraded},
		{"a policy refuses a third of it", "700/s", `{"limit": {"rate": "470/s", "burst": 47}}`, `"servers": 50`, engine.Steady},
		{"all calls are cut", "100/s", `{"timeout": "10ms"}`, `"servers": 50`, engine.Degraded},
		{"a queue without end at twice the capacity", "400/s", `{"timeout": "200ms"}`, `"servers": 10`, engine.Degraded},
		{"twice the capacity, refused", "400/s", `{"bulkhead": 10}`, `"servers": 10`, engine.Steady},
		{"ten times the capacity, refused", "2000/s", `{"bulkhead": 10}`, `"servers": 10`, engine.Steady},
		{"a service that fails most of its answers", "2000/s", `{"bulkhead": 200}`, `"servers": 200, "fail": "80%"`, engine.Steady},
		{"a service that has never had a server", "100/s", `{"timeout": "1s"}`, `"servers": 50, "faults": [{"at": "0s", "for": "60s", "servers": 0}]`, engine.Steady},
	} {
		r := run(t, `{"version": 1, "duration": "60s",
			"policies": {"p": {"steps": [`+test.policy+`]}},
			"clients": [{"name": "web", "to": "api", "policy": "p", "arrivals": {"poisson": "`+test.arrivals+`"}}],
			"services": [{"name": "api", "time": "50ms", `+test.service+`}]}`)
		assert.Equal(t, test.want, r.Verdict, test.name)
	}
}

// A policy refuses all calls for a third of the time.
func TestVerdictOfCapacityForAWhile(t *testing.T) {
	r := run(t, `{"version": 1, "duration": "60s",
		"policies": {"p": {"steps": [{"breaker": {"window": {"calls": 10}, "minimum": 10, "open": "20s", "initial": "open"}}]}},
		"clients": [{"name": "web", "to": "api", "policy": "p", "arrivals": {"poisson": "100/s"}}],
		"services": [{"name": "api", "servers": 50, "time": "50ms"}]}`)
	assert.Equal(t, engine.Recovered, r.Verdict)
}

// What one client is refused so that another one has the capacity is no waste.
func TestVerdictOfSharedCapacity(t *testing.T) {
	for limit, want := range map[string]engine.Verdict{"150/s": engine.Steady, "10/s": engine.Degraded} {
		r := run(t, `{"version": 1, "duration": "60s",
			"policies": {"quota": {"steps": [{"limit": {"rate": "`+limit+`", "burst": 1, "per": "key"}}]}},
			"clients": [
				{"name": "web", "to": "api", "key": "web", "arrivals": {"poisson": "30/s"}},
				{"name": "noisy", "to": "api", "key": "noisy", "arrivals": {"poisson": "2000/s"}}],
			"services": [{"name": "api", "servers": 10, "policy": "quota", "time": "50ms"}]}`)
		assert.Equal(t, want, r.Verdict, limit)
	}
}
