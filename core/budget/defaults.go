package budget

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Buckets is how many buckets a window is cut into, and the least window in
// nanoseconds.
const Buckets = 10

// Limits and defaults of the buckets of tokens.
const (
	MaxTokens      = 1_000_000
	MaxThrottle    = 1_000
	DefaultRetry   = 5
	DefaultTimeout = 10
	DefaultRefund  = 1
)

// Defaults of Adaptive.
const (
	DefaultWindow = 10 * time.Second
	DefaultWait   = 2 * time.Second
)

// DefaultOneAbove and DefaultTwoAbove are the shares of failed attempts above which
// Adaptive grants one retry and two.
func DefaultOneAbove() reducer.Share { return reducer.Millionths(reducer.Whole / 2) }

// DefaultTwoAbove is described at DefaultOneAbove.
func DefaultTwoAbove() reducer.Share { return reducer.Millionths(reducer.Whole / 5) }

// Default returns the budget of a ratio: 10/s are always granted, and both are
// counted over 10 s.
func Default(ratio reducer.Share) Config {
	return Config{Ratio: ratio, MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}
}

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the minimum, unless its period says that a
// count of 0 is meant, the window, and what is taken from a bucket of Tokens and returned
// to it. The ratio, the tokens and the token ratio have no default.
func (c Config) WithDefaults() Config {
	switch c.Rule {
	case Windowed:
		d := Default(c.Ratio)
		if c.MinimumCount == 0 && c.MinimumPeriod == 0 {
			c.MinimumCount, c.MinimumPeriod = d.MinimumCount, d.MinimumPeriod
		}
		if c.Window == 0 {
			c.Window = d.Window
		}
	case Tokens:
		if c.Retry == 0 {
			c.Retry = min(DefaultRetry, c.Tokens)
		}
		if c.Timeout == 0 {
			c.Timeout = min(DefaultTimeout, c.Tokens)
		}
		if c.Refund == 0 {
			c.Refund = DefaultRefund
		}
	case Adaptive:
		if c.Window == 0 {
			c.Window = DefaultWindow
		}
		if !c.OneAbove.Positive() {
			c.OneAbove = DefaultOneAbove()
		}
		if !c.TwoAbove.Positive() {
			c.TwoAbove = DefaultTwoAbove()
		}
		if c.Wait == 0 {
			c.Wait = DefaultWait
		}
	}
	return c
}
