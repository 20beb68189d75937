package backoff

import (
	"strconv"
	"strings"

	"github.com/sluice-go/sluice/core/mechanism"
)

// Describe describes the delays in one line.
func (c Config) Describe() string {
	if c.Kind == None {
		return "none"
	}
	text := c.Kind.String() + " " + mechanism.Span(c.Base)
	if c.Kind == Listed {
		text = c.Kind.String() + " " + c.Delays.text(mechanism.Span)
	}
	if c.Kind == Exponential {
		text += " factor " + c.Factor.String()
	}
	if c.Max > 0 {
		text += " max " + mechanism.Span(c.Max)
	}
	switch {
	case c.Jitter == Full:
		text += " with full jitter"
	case c.Jitter == Equal:
		text += " with equal jitter"
	case c.Jitter == Fraction:
		text += " with jitter " + c.Share.String()
	case c.Kind != Decorrelated:
		text += " without jitter"
	}
	return text
}

// String returns the factor as a number.
func (f Factor) String() string {
	text := strconv.FormatUint(uint64(f/FactorOne), 10)
	if rest := f % FactorOne; rest > 0 {
		text += "." + strings.TrimRight(strconv.FormatUint(uint64(FactorOne+rest), 10)[1:], "0")
	}
	return text
}
