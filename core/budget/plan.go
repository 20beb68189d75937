package budget

import (
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
)

// The first byte of a budget in plan bytes.
const (
	planAbsent = iota
	planGiven
	planNone
	planTokens
	planThrottle
	planAdaptive
)

// Plan codes a budget for plan bytes: whether it is there, whether the word none is
// in its place, and its values where it is there.
func Plan(c *Config, v *planwire.Coder, given, none *bool) {
	const name = "budget"
	var state uint8
	switch {
	case *given && c.Rule != Windowed:
		state = planNone + uint8(c.Rule)
	case *given:
		state = planGiven
	case *none:
		state = planNone
	}
	v.Word(name, &state)
	*given, *none = state == planGiven || state > planNone, state == planNone
	switch {
	case state > planAdaptive:
		v.Refuse(name)
		return
	case !*given:
		return
	case state > planNone:
		c.Rule = Rule(state - planNone)
		c.planBucket(v, name)
		return
	}
	v.Share(name, &c.Ratio)
	v.Count(name, &c.MinimumCount)
	v.Duration(name, &c.MinimumPeriod)
	v.Duration(name, &c.Window)
}

// planBucket codes the numbers of a rule but Windowed: a token ratio in thousandths.
func (c *Config) planBucket(v *planwire.Coder, name string) {
	if c.Rule == Adaptive {
		v.Duration(name, &c.Window)
		v.Share(name, &c.OneAbove)
		v.Share(name, &c.TwoAbove)
		v.Duration(name, &c.Wait)
		return
	}
	if v.Count(name, &c.Tokens); c.Rule == Tokens {
		v.Count(name, &c.Retry)
		v.Count(name, &c.Timeout)
		v.Count(name, &c.Refund)
		return
	}
	ratio := c.TokenRatio.Millionths() / millionths
	if v.Count(name, &ratio); ratio > MaxThrottle*thousandths {
		v.Refuse(name)
		ratio = 0
	}
	c.TokenRatio = reducer.Millionths(ratio * millionths)
}
