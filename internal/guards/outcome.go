package guards

import (
	"slices"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/refusals"
)

// DefaultOutcomes is what a document has when it does not say.
var DefaultOutcomes = policy.Outcomes{
	Fail:     policy.Class{Hundreds: []int{5}, Failures: []policy.Failure{document.Connect, document.Reset}},
	Throttle: policy.Class{Codes: []int{429}},
	Ignore:   policy.Class{Hundreds: []int{4}},
}

// Outcomes returns what answers mean to a pipeline: the option's, nil for none, the
// document's, or the default.
func Outcomes(option *policy.Outcomes, p *sluice.Pipeline) *policy.Outcomes {
	if option != nil {
		return option
	}
	if own := p.Document(); own != nil {
		return &own.Outcomes
	}
	return &DefaultOutcomes
}

// PolicyOf returns the values of RateLimit-Policy for the limits that apply to a call,
// those of the states: all, the values for all limits of the plan, unless one is missing.
func PolicyOf(limits []refusals.Limit, all []string, states []sluice.LimitState) []string {
	has := func(step int) bool {
		return slices.ContainsFunc(states, func(state sluice.LimitState) bool { return state.Step == step })
	}
	for i := range limits {
		if !has(limits[i].Step) {
			return []string{refusals.PolicyFieldOf(limits, has)}
		}
	}
	return all
}
