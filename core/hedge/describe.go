package hedge

import (
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
)

// describe says how many further attempts start, and when.
func describe(config mechanism.Config, step mechanism.Step) string {
	c := config.(Config)
	text := mechanism.Plural(c.Max, "further attempt")
	switch {
	case c.Parallel:
		text += " at once"
	case c.Percentile.Positive():
		text += ", each after p" + strings.TrimSuffix(c.Percentile.String(), "%") + " of the last " +
			mechanism.Plural(c.Samples, "duration") + ", from " + mechanism.Number(c.Minimum) + " on"
	default:
		text += ", each after " + mechanism.Span(c.After)
	}
	switch {
	case c.Budgeted:
		text += ", " + c.Budget.Describe()
	case c.Unbudgeted:
		text += ", no budget"
	}
	return text + step.MethodsText()
}
