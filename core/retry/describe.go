package retry

import "github.com/sluice-go/sluice/core/mechanism"

// describe says how often and when a retry repeats.
func describe(config mechanism.Config, step mechanism.Step) string {
	c := config.(Config)
	text := mechanism.Plural(c.Attempts, "attempt") + ", backoff " + c.Backoff.Describe()
	if c.MaxElapsed > 0 {
		text += ", none after " + mechanism.Span(c.MaxElapsed)
	}
	if c.Refusals == WaitRefused {
		text += ", waits for refusals"
	}
	if c.Budgeted {
		text += ", " + c.Budget.Describe()
	} else {
		text += ", no budget"
	}
	return text + step.MethodsText()
}
