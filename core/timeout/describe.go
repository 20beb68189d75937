package timeout

import "github.com/sluice-go/sluice/core/mechanism"

// describe says what a timeout bounds.
func describe(config mechanism.Config, step mechanism.Step) string {
	c := config.(Config)
	text := mechanism.Span(c.After)
	switch {
	case step.EachAttempt:
		text += " for each attempt"
	case step.First:
		text += " for the whole call"
	default:
		text += " for the call"
	}
	if c.Soft > 0 {
		text += ", warns after " + mechanism.Span(c.Soft)
	}
	return text
}
