package bulkhead

import "github.com/sluice-go/sluice/core/limiter"

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the queue beside a wait, and the places of a call
// without the attribute that has its cost. Concurrent has no default.
func (c Config) WithDefaults() Config {
	if c.Wait > 0 && c.Queue == 0 {
		c.Queue = limiter.DefaultQueue
	}
	if c.Cost.Attribute != "" && c.Cost.Permits == 0 {
		c.Cost.Permits = 1
	}
	return c
}
