package budget

import "github.com/sluice-go/sluice/core/internal/planwire"

// The first byte of a budget in plan bytes.
const (
	planAbsent = iota
	planGiven
	planNone
)

// Plan codes a budget for plan bytes: whether it is there, whether the word none is
// in its place, and its values where it is there.
func (c *Config) Plan(v *planwire.Coder, given, none *bool) {
	const name = "budget"
	var state uint8
	switch {
	case *given:
		state = planGiven
	case *none:
		state = planNone
	}
	v.Word(name, &state)
	*given, *none = state == planGiven, state == planNone
	if state > planNone {
		v.Refuse(name)
	}
	if !*given {
		return
	}
	v.Share(name, &c.Ratio)
	v.Count(name, &c.MinimumCount)
	v.Duration(name, &c.MinimumPeriod)
	v.Duration(name, &c.Window)
}
