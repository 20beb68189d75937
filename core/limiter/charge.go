package limiter

import "github.com/sluice-go/sluice/reducer"

// Charge says when a step of a pipeline takes the permits of a call. Source:
// policy/REFERENCE.md#charges.
type Charge uint8

// The charges.
const (
	// ChargeStart takes the cost when the call is admitted.
	ChargeStart Charge = iota
	// ChargeSettle takes the cost when the call is admitted, and at its end returns
	// what was not used, or takes what was used beyond it.
	ChargeSettle
	// ChargeEnd admits the call when the cost is free, takes nothing then, and takes
	// what was used at its end.
	ChargeEnd
	charges
)

// Settles reports whether the permits of a call that ran change at its end.
func (c Config) Settles() bool { return c.Charge != ChargeStart || c.Counts != 0 }

// MostBeyond returns the most permits that the end of one call takes beyond its cost.
func (c *Config) MostBeyond() uint32 {
	if c.SettleMax > 0 {
		return c.SettleMax
	}
	return c.most()
}

// Outcomes is a set of outcomes. The zero value is the set of all.
type Outcomes uint8

// OutcomesOf returns the set of some outcomes.
func OutcomesOf(list ...reducer.Outcome) (o Outcomes) {
	for _, one := range list {
		o |= 1 << (one - 1)
	}
	return o.whole()
}

// allOutcomes has every outcome.
const allOutcomes Outcomes = 1<<reducer.Cancelled - 1

// whole returns the zero value for the set of all outcomes, so that equal sets are equal.
func (o Outcomes) whole() Outcomes {
	if o == allOutcomes {
		return 0
	}
	return o
}

// Has reports whether an outcome is in the set.
func (o Outcomes) Has(outcome reducer.Outcome) bool {
	return o == 0 || outcome > 0 && o&(1<<(outcome-1)) != 0
}

// Names returns the words of a set in their order.
func (o Outcomes) Names() []string {
	var list []string
	for outcome := reducer.OK; outcome <= reducer.Cancelled; outcome++ {
		if o.Has(outcome) {
			list = append(list, outcome.String())
		}
	}
	return list
}
