package bulkhead

import "github.com/sluice-go/sluice/core/limiter"

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the queue beside a wait. Concurrent has no
// default.
func (c Config) WithDefaults() Config {
	if c.Wait > 0 && c.Queue == 0 {
		c.Queue = limiter.DefaultQueue
	}
	return c
}
