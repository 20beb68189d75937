package budget

import "github.com/sluice-go/sluice/core/mechanism"

// Describe describes in one line what the budget grants.
func (c Config) Describe() string {
	return "budget " + c.Ratio.String() + ", " + mechanism.RateText(c.MinimumCount, c.MinimumPeriod) + " at least, over " + mechanism.Span(c.Window)
}
