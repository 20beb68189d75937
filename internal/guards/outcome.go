package guards

import (
	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// DefaultOutcomes is what a document has when it does not say.
var DefaultOutcomes = policy.Outcomes{
	Fail:     policy.Class{Hundreds: []int{5}, Failures: []policy.Failure{document.Connect, document.Reset}},
	Throttle: policy.Class{Codes: []int{429}},
	Ignore:   policy.Class{Codes: []int{501, 505, 511}, Hundreds: []int{4}},
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
