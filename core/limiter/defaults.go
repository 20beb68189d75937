package limiter

import "time"

// DefaultMaxBlock is the default max of an exponential backoff of blocks.
const DefaultMaxBlock = 24 * time.Hour

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the queue beside a wait, the factor of a warm-up,
// one refusal before a block, and the period beside a calendar. Count and Period have no
// other default.
func (c Config) WithDefaults() Config {
	c = c.filled()
	if c.Period == 0 {
		c.Period = c.Calendar.Unit.Length()
	}
	return c
}
