package adaptive

import "time"

// DefaultInitial and DefaultMaximum hold where the settings that are given allow them, and
// DefaultOver where a share has nothing to be a share of.
const (
	DefaultInitial = 20
	DefaultMaximum = 200
	DefaultOver    = 5 * time.Second
)

// WithDefaults returns the configuration with the defaults of a document in place of
// zeros. The defaults of the bounds and of the initial limit follow the settings that
// are given: the maximum is at least the minimum and the initial limit, and the
// initial limit lies between the bounds. A call without the attribute that has its cost
// takes one place.
func (c Config) WithDefaults() Config {
	c = c.filled()
	if c.Maximum == 0 {
		c.Maximum = max(DefaultMaximum, c.Minimum, c.Initial)
	}
	if c.Initial == 0 {
		c.Initial = min(max(DefaultInitial, c.Minimum), c.Maximum)
	}
	if c.Cost.Attribute != "" && c.Cost.Permits == 0 {
		c.Cost.Permits = 1
	}
	return c
}
