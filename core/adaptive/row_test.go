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
		"{}":             {Initial: 20, Minimum: 1, Maximum: 200, Increase: 1, Decrease: reducer.Percent(10), Over: 5 * time.Second},
		"{maximum: 5}":   {Initial: 5, Minimum: 1, Maximum: 5, Increase: 1, Decrease: reducer.Percent(10), Over: 5 * time.Second},
		"{minimum: 300}": {Initial: 300, Minimum: 300, Maximum: 300, Increase: 1, Decrease: reducer.Percent(10), Over: 5 * time.Second},
		"{initial: 10000, minimum: 3, maximum: 10000, increase: 100, decrease: 100%, over: 1ns, per: host, shadow: true}": {
			Initial: 10_000, Minimum: 3, Maximum: 10_000, Increase: 100, Decrease: reducer.Percent(100), Over: 1},
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
		"{maximum: 0, minimum: 3}":   "p.yaml:2:25: steps[0].adaptive.maximum: found the number 0; allowed a whole number from 1 to 10000",
	} {
		if _, err := policy.ParseOne("p.yaml", []byte("steps:\n  - adaptive: "+body+"\n")); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v\nwant\n%s", body, err, want)
		}
	}
}
