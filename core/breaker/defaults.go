package breaker

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/reducer"
)

// Defaults of a configuration.
const (
	DefaultCalls       = 100
	DefaultBuckets     = 10
	DefaultMinimum     = 100
	DefaultFailureRate = reducer.Whole / 2 // millionths
	DefaultOpen        = time.Minute
)

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values. A window of consecutive failures has no
// default count, and no minimum and rate.
func (c Config) WithDefaults() Config {
	c = c.filled()
	if c.Open == (backoff.Config{}) {
		c.Open = backoff.Config{Kind: backoff.Constant, Base: DefaultOpen}
	}
	switch {
	case c.Window == Consecutive:
		return c
	case c.Count == 0 && c.Window == Calls:
		c.Count = DefaultCalls
	case c.Count == 0:
		c.Count = DefaultBuckets
	}
	if !c.FailureRate.Positive() {
		c.FailureRate = reducer.Millionths(DefaultFailureRate)
	}
	if c.Minimum == 0 {
		c.Minimum = DefaultMinimum
		if c.Window == Calls {
			c.Minimum = min(DefaultMinimum, c.Count)
		}
	}
	return c
}
