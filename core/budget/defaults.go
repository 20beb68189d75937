package budget

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Buckets is how many buckets a window is cut into, and the least window in
// nanoseconds.
const Buckets = 10

// Default returns the budget of a ratio: 10/s are always granted, and both are
// counted over 10 s.
func Default(ratio reducer.Share) Config {
	return Config{Ratio: ratio, MinimumCount: 10, MinimumPeriod: time.Second, Window: 10 * time.Second}
}

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the minimum, unless its period says that a
// count of 0 is meant, and the window. The ratio has no default.
func (c Config) WithDefaults() Config {
	d := Default(c.Ratio)
	if c.MinimumCount == 0 && c.MinimumPeriod == 0 {
		c.MinimumCount, c.MinimumPeriod = d.MinimumCount, d.MinimumPeriod
	}
	if c.Window == 0 {
		c.Window = d.Window
	}
	return c
}
