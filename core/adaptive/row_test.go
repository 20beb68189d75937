package adaptive_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// The settings of documents, with the defaults that depend on other settings.
func TestDocuments(t *testing.T) {
	for body, want := range map[string]adaptive.Config{
		"{}":             {Initial: 20, Minimum: 1, Maximum: 200, Increase: 1, Decrease: reducer.Percent(10), Tolerance: reducer.Percent(15), OverShare: reducer.Percent(60)},
		"{maximum: 5}":   {Initial: 5, Minimum: 1, Maximum: 5, Increase: 1, Decrease: reducer.Percent(10), Tolerance: reducer.Percent(15), OverShare: reducer.Percent(60)},
		"{minimum: 300}": {Initial: 300, Minimum: 300, Maximum: 300, Increase: 1, Decrease: reducer.Percent(10), Tolerance: reducer.Percent(15), OverShare: reducer.Percent(60)},
		"{initial: 10000, minimum: 3, maximum: 10000, increase: 100, decrease: 100%, over: 1ns, tolerance: 20%, lease: 1m, per: host, shadow: true}": {
			Initial: 10_000, Minimum: 3, Maximum: 10_000, Increase: 100, Decrease: reducer.Percent(100), Tolerance: reducer.Percent(20), Over: 1, Lease: time.Minute},
		"{over: 12.5%}": {Initial: 20, Minimum: 1, Maximum: 200, Increase: 1, Decrease: reducer.Percent(10), Tolerance: reducer.Percent(15), OverShare: reducer.Millionths(125_000)},
	} {
		p, err := policy.ParseOne("p.yaml", []byte("steps:\n  - adaptive: "+body+"\n"))
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if got := p.Steps[0].Config; got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

// What documents must not say.
func TestBadDocuments(t *testing.T) {
	for body, want := range map[string]string{
		"{initial: 50, maximum: 40}": "p.yaml:2:25: steps[0].adaptive.initial: found the number 50; allowed at most the maximum, 40",
		"{initial: 2, minimum: 3}":   "p.yaml:2:25: steps[0].adaptive.initial: found the number 2; allowed at least the minimum, 3",
		"{maximum: 2, minimum: 3}":   "p.yaml:2:37: steps[0].adaptive.minimum: found the number 3; allowed at most the maximum, 2",
		"{tolerance: 51%}":           "p.yaml:2:27: steps[0].adaptive.tolerance: found the text \"51%\"; allowed at most 50%: a limit whose calls are cut must fall",
		"{over: 101%}":               "p.yaml:2:22: steps[0].adaptive.over: found the text \"101%\"; allowed a duration as in 500ms, or a share of the time that the attempt has, as in 60%",
		"{over: 5}":                  "p.yaml:2:22: steps[0].adaptive.over: found the number 5; allowed a duration as in 500ms, or a share of the time that the attempt has, as in 60%",
		"{over: fast}":               "p.yaml:2:22: steps[0].adaptive.over: found the text \"fast\"; allowed a duration as in 500ms, or a share of the time that the attempt has, as in 60%",
		"{over: 0s}":                 "p.yaml:2:22: steps[0].adaptive.over: found the text \"0s\"; allowed a duration: numbers, each with its unit (ns, us, ms, s, m, h, d), as in 30s or 1m30s; more than 0",
		"{maximum: 0, minimum: 3}":   "p.yaml:2:25: steps[0].adaptive.maximum: found the number 0; allowed a whole number from 1 to 10000",
	} {
		if _, err := policy.ParseOne("p.yaml", []byte("steps:\n  - adaptive: "+body+"\n")); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", body, err, want)
		}
	}
}
