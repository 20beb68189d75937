package limiter

// DefaultQueue is the queue of a step with a wait that names none.
const DefaultQueue = 100

// WithDefaults returns the configuration with the defaults of a document in place
// of zeros that are no legal values: the queue beside a wait. Count and Period
// have no default.
func (c Config) WithDefaults() Config {
	if c.Wait > 0 && c.Queue == 0 {
		c.Queue = DefaultQueue
	}
	return c
}
