package limiter

import "time"

// DefaultQueue is the queue of a step with a wait that names none.
const DefaultQueue = 100

// DefaultMaxBlock is the default max of an exponential backoff of blocks.
const DefaultMaxBlock = 24 * time.Hour

// DefaultFactor is that of a warm-up that names none.
const DefaultFactor = 3

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the queue beside a wait, the factor of a warm-up,
// one refusal before a block, and the period beside a calendar. Count and Period have no
// other default.
func (c Config) WithDefaults() Config {
	if c.Wait > 0 && c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	if c.WarmUp.Over > 0 && c.WarmUp.Factor == 0 {
		c.WarmUp.Factor = DefaultFactor
	}
	if c.Block.on() && c.Block.After == 0 {
		c.Block.After = 1
	}
	if c.Period == 0 {
		c.Period = c.Calendar.Unit.Length()
	}
	return c
}
