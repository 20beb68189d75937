package breaker

import (
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/mechanism"
)

// describe says when a breaker opens, for how long, and what closes it.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	text := c.opens()
	if c.Open.Kind == backoff.Constant && c.Open.Jitter == backoff.NoJitter {
		text += ", for " + mechanism.Span(c.Open.Base)
	} else {
		text += ", for " + c.Open.Describe()
	}
	text += ", then " + mechanism.Plural(c.Probes, "probe")
	if c.Successes > 0 {
		text += ", " + mechanism.Number(c.Successes) + " good ones close"
	}
	if c.HalfOpenMax > 0 {
		text += " within " + mechanism.Span(c.HalfOpenMax)
	}
	if c.RampOver > 0 {
		text += ", then a ramp from " + c.RampFrom.String() + " over " + mechanism.Span(c.RampOver)
	}
	if c.ObeyRetryAfter > 0 {
		text += ", opens for a retry-after up to " + mechanism.Span(c.ObeyRetryAfter)
	}
	if c.Initial != Closed {
		text += ", starts " + c.Initial.String()
	}
	return text
}

// opens describes the condition at which the breaker opens.
func (c Config) opens() string {
	slow := ""
	if c.SlowConsecutive > 0 {
		slow = " or " + mechanism.Number(c.SlowConsecutive) + " slower than " + mechanism.Span(c.SlowOver) + " in a row"
	}
	if c.Window == Consecutive {
		text := "opens at " + mechanism.Plural(c.Count, "failure") + " in a row"
		if c.Forget > 0 {
			text += ", forgotten after " + mechanism.Span(c.Forget) + " without one"
		}
		return text + slow
	}
	text := "opens at " + c.FailureRate.String() + " failed"
	if c.SlowRate.Positive() {
		text += " or " + c.SlowRate.String() + " slower than " + mechanism.Span(c.SlowOver)
	}
	if c.Window == Time {
		text += " of the last " + mechanism.Span(c.Span) + " in " + mechanism.Plural(c.Count, "bucket")
	} else {
		text += " of the last " + mechanism.Plural(c.Count, "call")
	}
	return text + ", from " + mechanism.Number(c.Minimum) + " on" + slow
}
