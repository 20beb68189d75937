package retry

import (
	"time"

	"github.com/sluice-go/sluice/core/backoff"
)

// Default returns the configuration of a retry without settings: 3 attempts, and an
// exponential backoff of 500 ms, factor 2 and at most 1 min with full jitter.
func Default() Config {
	return Config{Attempts: DefaultAttempts, Backoff: backoff.Config{
		Kind: backoff.Exponential, Base: 500 * time.Millisecond, Factor: backoff.DefaultFactor, Max: backoff.DefaultMax, Jitter: backoff.Full,
	}}
}

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values. An empty Backoff is one: it does not delay.
// The empty configuration becomes Default.
func (c Config) WithDefaults() Config {
	if c == (Config{}) {
		return Default()
	}
	c = c.filled()
	if c.Backoff.Kind == backoff.Exponential && c.Backoff.Factor == 0 {
		c.Backoff.Factor = backoff.DefaultFactor
	}
	if c.Budgeted {
		c.Budget = c.Budget.WithDefaults()
	}
	return c
}
