package goal_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/goal"
)

func result() *sim.Result {
	return &sim.Result{
		Duration: time.Minute, Counted: time.Minute, Verdict: sim.Recovered,
		Clients: []sim.ClientResult{{
			Name: "web", Calls: 200, OK: 150, Refused: 50, Recovery: -1,
			Refusals: []engine.Refusal{{Step: "limit", Reason: "rate", Calls: 50}},
			Latency:  engine.Latency{Count: 150, P99: 120 * time.Millisecond},
		}},
		Services: []sim.ServiceResult{{Name: "web", Arrived: 10, Wasted: 1}, {Name: "db"}},
	}
}

func TestGoals(t *testing.T) {
	figures := goal.Of(result())
	for text, want := range map[string]struct {
		found string
		met   bool
	}{
		"verdict==recovered":                   {"recovered", true},
		"verdict = steady":                     {"recovered", false},
		"verdict != metastable":                {"recovered", true},
		"clients.web.calls>=200":               {"200", true},
		"clients.web.calls > 200":              {"200", false},
		"clients.web.ok>=80%":                  {"75%", false},
		"clients.web.refusals.limit:rate<=25%": {"25%", true},
		"clients.web.latency.p99<200ms":        {"0.12", true},
		"clients.web.latency.p99<0.1":          {"0.12", false},
		"services.web.wasted<5%":               {"10%", false},
		"services.db.wasted<5%":                {"0%", true},
		"db.utilization==0":                    {"0", true},
		"clients.web.recovery<10s":             {"none", false},
		"clients.web.recovery==null":           {"null", true},
		"clients.web.goodput==null":            {"0", false},
		"services.db.utilization<90%":          {"0", true},
		"services.db.wait.p99<1s":              {"none", false},
	} {
		g, err := goal.Parse(text)
		require.NoError(t, err, text)
		found, met, err := g.Check(figures)
		require.NoError(t, err, text)
		assert.Equal(t, want.met, met, text)
		assert.Equal(t, want.found, found, text)
		distance, err := g.Distance(figures)
		require.NoError(t, err, text)
		assert.Equal(t, want.met, distance == 0, text)
	}
}

func TestBadGoals(t *testing.T) {
	for text, want := range map[string]string{
		"verdict":            "found no comparison",
		"<5":                 "found no path",
		"verdict==":          "found no value",
		"clients.web.ok>x":   "found x; allowed: a number",
		"clients.web.ok>=x%": "found x%; allowed: a percentage",
		"clients.web.ok ! 3": "found no comparison",
	} {
		_, err := goal.Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
	figures := goal.Of(result())
	for text, want := range map[string]string{
		"clients.wep.p99<1":  "found no figure of this name; allowed: the paths of the result, as in clients.web.latency.p99",
		"nothing<1":          "found no figure",
		"web.refused<1":      "found in clients and in services; allowed: clients.web.refused or services.web.refused",
		"verdict<5":          "found the word recovered",
		"clients.web.ok==no": "found a number at clients.web.ok",
	} {
		g, err := goal.Parse(text)
		require.NoError(t, err, text)
		_, _, err = g.Check(figures)
		assert.ErrorContains(t, err, want, text)
	}
}
