package chaos

import (
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
)

// describe says what the step injects, and into which share of the attempts.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	var parts []string
	if c.Fail.Positive() {
		parts = append(parts, "fail "+c.Fail.String())
	}
	if c.Throttle.Positive() {
		text := "throttle " + c.Throttle.String()
		if c.RetryAfter > 0 {
			text += " with retry_after " + mechanism.Span(c.RetryAfter)
		}
		parts = append(parts, text)
	}
	if c.Ignore.Positive() {
		parts = append(parts, "ignore "+c.Ignore.String())
	}
	if c.Slow.Positive() {
		text := "slow " + c.Slow.String() + " by " + mechanism.Span(c.By)
		if c.To > c.By {
			text += " to " + mechanism.Span(c.To)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "injects nothing"
	}
	return "injects " + strings.Join(parts, ", ")
}
