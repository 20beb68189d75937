package budget

import "github.com/sluice-go/sluice/core/mechanism"

// Describe describes in one line what the budget grants.
func (c Config) Describe() string {
	switch c.Rule {
	case Tokens:
		return "budget of " + mechanism.Plural(c.Tokens, "token") + ", a retry takes " + mechanism.Number(c.Retry) + ", after a timeout " +
			mechanism.Number(c.Timeout) + ", a first attempt that succeeds returns " + mechanism.Number(c.Refund)
	case Throttle:
		return "budget of " + mechanism.Plural(c.Tokens, "token") + ", a failure takes 1, a success returns " + string(appendThousandths(nil, c.TokenRatio.Millionths()/millionths)) + ", none at one half"
	case Adaptive:
		return "budget of retries a call: 1 above " + c.OneAbove.String() + " of failures, 2 above " + c.TwoAbove.String() + ", over " + mechanism.Span(c.Window) +
			", none after a wait of more than " + mechanism.Span(c.Wait)
	}
	return "budget " + c.Ratio.String() + ", " + mechanism.RateText(c.MinimumCount, c.MinimumPeriod) + " at least, over " + mechanism.Span(c.Window)
}
