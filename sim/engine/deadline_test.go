package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/scenario"
)

// A deadline holds without a policy as it does with one that has no step which matters.
func TestDeadlineWithoutPolicy(t *testing.T) {
	for _, abandon := range []bool{false, true} {
		text := fmt.Sprintf(`{"version": 1, "seed": 3, "duration": "60s",
			"policies": {"p": {"steps": [{"timeout": "1h"}]}},
			"clients": [{"name": "web", "to": "api", "policy": "%%s", "deadline": "100ms", "arrivals": {"poisson": "60/s"}}],
			"services": [{"name": "api", "servers": 3, "time": {"exponential": "50ms"}, "abandon": %t}]}`, abandon)
		with, without := run(t, fmt.Sprintf(text, "p")), run(t, fmt.Sprintf(text, "none"))
		assert.Equal(t, with.Clients, without.Clients)
		assert.Equal(t, with.Services, without.Services)
		web := without.Client("web")
		assert.NotZero(t, web.Failed)
		assert.Less(t, web.Latency.Max, 100*time.Millisecond)
	}
}

// The end of the interval is over: an answer at the deadline is late, one a nanosecond
// before is not.
func TestAnswerAtTheDeadline(t *testing.T) {
	for deadline, ok := range map[string]uint64{"50ms": 0, "50000001ns": 1} {
		r := run(t, `{"version": 1, "duration": "10s",
			"clients": [{"name": "web", "to": "api", "deadline": "`+deadline+`", "arrivals": {"steps": [{"for": "1s", "constant": "1/s"}]}}],
			"services": [{"name": "api", "time": "50ms"}]}`)
		assert.Equal(t, ok, r.Client("web").OK, deadline)
		assert.Equal(t, 1-ok, r.Client("web").Failed, deadline)
		assert.Equal(t, uint64(1), r.Service("api").Served)
		assert.Equal(t, 1-ok, r.Service("api").Wasted)
	}
}

// The call in the policy of a service has what is left of the deadline: a waiting
// call leaves at the deadline, and one whose turn is later does not wait.
func TestDeadlineReachesThePolicyOfAService(t *testing.T) {
	for _, test := range []struct {
		name, step string
		refused    uint64
		end        time.Duration
	}{
		{"bulkhead", `{"bulkhead": {"concurrent": 1, "queue": 100, "wait": "10s"}}`, 0, 1500 * time.Millisecond},
		{"limit", `{"limit": {"rate": "1/2s", "burst": 1, "wait": "10s"}}`, 1, 500 * time.Millisecond},
	} {
		s, err := scenario.ParseJSON("test.json", []byte(`{"version": 1, "duration": "20s",
			"policies": {"guard": {"steps": [`+test.step+`]}},
			"clients": [
				{"name": "first", "to": "api", "arrivals": {"steps": [{"for": "100ms", "constant": "1/s"}]}},
				{"name": "web", "to": "api", "deadline": "1s", "arrivals": {"steps": [{"for": "500ms", "constant": "0/s"}, {"for": "100ms", "constant": "1/s"}]}}],
			"services": [{"name": "api", "servers": 100, "time": "3s", "policy": "guard"}]}`), nil)
		require.NoError(t, err)
		var ended clock.Mark
		r, err := engine.Run(s, engine.Options{Observe: func(e *engine.Event) {
			if e.Kind == engine.EventEnd && e.Client == "web" {
				ended = e.At
			}
		}})
		require.NoError(t, err)
		assert.Equal(t, uint64(1), r.Client("first").OK, test.name)
		assert.Equal(t, uint64(1), r.Client("web").Failed, test.name)
		assert.Equal(t, clock.Mark(test.end), ended, test.name)
		assert.Equal(t, test.refused, r.Service("api").Refused, test.name)
		assert.Equal(t, uint64(1), r.Service("api").Served, "%s: who waited reached no server", test.name)
	}
}

// A service that calls another one passes the rest of the deadline on. A call whose
// deadline is over is not made.
func TestDeadlineReachesTheCallsOfAService(t *testing.T) {
	s, err := scenario.ParseJSON("test.json", []byte(`{"version": 1, "duration": "10s",
		"clients": [{"name": "web", "to": "front", "deadline": "100ms", "arrivals": {"steps": [{"for": "1s", "constant": "2/s"}]}}],
		"services": [
			{"name": "front", "servers": 10, "time": "60ms", "calls": [{"to": "middle"}]},
			{"name": "middle", "servers": 10, "time": "60ms", "calls": [{"to": "back", "policy": "none"}]},
			{"name": "back", "servers": 10, "time": "10ms"}]}`), nil)
	require.NoError(t, err)
	var ends []clock.Mark
	r, err := engine.Run(s, engine.Options{Observe: func(e *engine.Event) {
		if e.Kind == engine.EventEnd {
			ends = append(ends, e.At)
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, uint64(2), r.Client("web").Failed)
	assert.Equal(t, []clock.Mark{clock.Mark(100 * time.Millisecond), clock.Mark(600 * time.Millisecond)}, slices.Compact(ends))
	assert.Equal(t, uint64(2), r.Service("middle").Arrived)
	assert.Equal(t, uint64(2), r.Service("middle").Wasted)
	assert.Zero(t, r.Service("back").Arrived, "the deadline was over before the call")
	// The front's call to the middle ended at the deadline, so its server was free then.
	assert.InDelta(t, 2*100e-3/10, r.Service("front").InSystem, 1e-9)
}
