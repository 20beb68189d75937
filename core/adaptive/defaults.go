package adaptive

import (
	"time"

	"github.com/sluice-go/sluice/reducer"
)

// Defaults of a configuration.
const (
	DefaultInitial   = 20
	DefaultMinimum   = 1
	DefaultMaximum   = 200
	DefaultIncrease  = 1
	DefaultDecrease  = reducer.Whole / 10         // millionths
	DefaultTolerance = 15 * (reducer.Whole / 100) // millionths
	DefaultOverShare = 60 * (reducer.Whole / 100) // millionths
	// DefaultOver is Over where a share has nothing to be a share of.
	DefaultOver = 5 * time.Second
)

// WithDefaults returns the configuration with the defaults of a document in place of
// zeros. The defaults of the bounds and of the initial limit follow the settings that
// are given: the maximum is at least the minimum and the initial limit, and the
// initial limit lies between the bounds. A call without the attribute that has its cost
// takes one place.
func (c Config) WithDefaults() Config {
	if c.Minimum == 0 {
		c.Minimum = DefaultMinimum
	}
	if c.Maximum == 0 {
		c.Maximum = max(DefaultMaximum, c.Minimum, c.Initial)
	}
	if c.Initial == 0 {
		c.Initial = min(max(DefaultInitial, c.Minimum), c.Maximum)
	}
	if c.Increase == 0 {
		c.Increase = DefaultIncrease
	}
	if !c.Decrease.Positive() {
		c.Decrease = reducer.Millionths(DefaultDecrease)
	}
	if !c.Tolerance.Positive() {
		c.Tolerance = reducer.Millionths(DefaultTolerance)
	}
	if c.Over == 0 && !c.OverShare.Positive() {
		c.OverShare = reducer.Millionths(DefaultOverShare)
	}
	if c.Cost.Attribute != "" && c.Cost.Permits == 0 {
		c.Cost.Permits = 1
	}
	return c
}
