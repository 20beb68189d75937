package pipeline

import (
	"math/bits"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/reducer"
)

// Conditions are what the attributes of a call say about the steps of a plan.
type Conditions struct {
	// Skips are the steps that do not apply to the call.
	Skips uint16
	// Decided are the steps for which an attribute decides whether they enforce for the
	// call; Shadows are the admissions that do not.
	Decided, Shadows uint16
	// Denied refuses the call. It comes before Allowed.
	Denied bool
	// Allowed lets the call pass without any step.
	Allowed bool
}

// Omits returns the steps that the call does not pass, as a mask: all where it is denied or
// allowed.
func (x *Conditions) Omits() uint16 {
	if x.Denied || x.Allowed {
		return 1<<MaxSteps - 1
	}
	return x.Skips
}

// Conditional reports whether attributes say which steps apply to a call, and enforce for
// it: its host calls ConditionsBy and Apply.
func (p *Plan) Conditional() bool {
	return p.with(mechanism.Conditional)|p.with(mechanism.ShareByAttribute) != 0 || p.allow.Some() || p.deny.Some()
}

// Varies reports whether calls differ in the steps that apply to them, or enforce for them.
func (p *Plan) Varies() bool { return p.Conditional() || p.with(mechanism.Partial) != 0 }

// Skippable returns the steps that apply to some calls alone, as a mask.
func (p *Plan) Skippable() uint16 { return p.with(mechanism.Conditional) }

// ConditionsBy returns what the attributes of a call say. A missing one is empty.
func (p *Plan) ConditionsBy(lookup func(attribute string) string) (x Conditions) {
	switch {
	case p.deny.Matches(lookup):
		x.Denied = true
		return x
	case p.allow.Matches(lookup):
		x.Allowed = true
		return x
	}
	for left := p.with(mechanism.Conditional); left != 0; left &= left - 1 {
		if i := lowest(left); !p.stages[i].when.Matches(lookup) {
			x.Skips |= 1 << i
		}
	}
	for left := p.with(mechanism.ShareByAttribute); left != 0; left &= left - 1 {
		i := lowest(left)
		s := &p.steps[i]
		value := lookup(s.Enforce.By)
		if value == "" {
			continue
		}
		if x.Decided |= 1 << i; !s.Enforce.Has(s.Name, value) {
			x.Shadows |= 1 << i
		}
	}
	return x
}

// Apply gives a call that has begun, and has not entered a step, what its attributes say,
// and returns the first effect in place of the effect of Begin.
func (p *Plan) Apply(c *Call, x *Conditions) Effect {
	if x.Denied && p.deny.Some() {
		c.Phase, c.Outcome = Over, reducer.Cancelled
		return Effect{Do: Refuse, Step: denial, At: clock.Never}.because(0, reducer.ReasonDenied)
	}
	c.Skips = x.Skips & p.with(mechanism.Conditional)
	if c.Allowed = x.Allowed && p.allow.Some(); c.Allowed {
		c.Skips = 1<<len(p.steps) - 1
	}
	decided := x.Decided & p.with(mechanism.ShareByAttribute)
	c.Shadows = c.Shadows&^decided | x.Shadows&decided
	return Effect{Do: Enter}
}

// sharesApart separates the words of shares from the words of the jitter and of the injections
// of the same call.
const sharesApart = 1<<31 + 1

// draw decides by the seed of a call for which steps it belongs to the share that they
// enforce for.
func (p *Plan) draw(c *Call) {
	state := backoff.Word(c.Seed + sharesApart)
	for left := p.with(mechanism.Partial); left != 0; left &= left - 1 {
		i := lowest(left)
		part, _ := bits.Mul64(backoff.Word(state+condition.Word(p.steps[i].Name)), reducer.Whole)
		if uint32(part) >= p.steps[i].Enforce.Of.Millionths() {
			c.Shadows |= 1 << i
		}
	}
}

// Skipped reports whether step i does not apply to the call.
func (c *Call) Skipped(i int) bool { return c.Skips&(1<<i) != 0 }

// InShadow reports whether step i enforces nothing for the call.
func (c *Call) InShadow(i int) bool { return c.Shadows&(1<<i) != 0 }

// Omit takes an attempt past a step that does not apply to the call.
func (a *Attempt) Omit(i int) {
	a.Entered = uint8(i + 1)
	a.Slots[i] = reducer.Permit{Mark: clock.Never}
}
