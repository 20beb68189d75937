package pipeline

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/internal/assert"
)

// of returns the phases as a mask.
func phases(all ...Phase) (mask uint16) {
	for _, p := range all {
		mask |= 1 << p
	}
	return mask
}

// follows returns the phases that may follow a phase of a call by one event, itself left out.
func (p Phase) follows() uint16 {
	switch p {
	case Entering:
		return phases(Waiting, Running, Racing, Sleeping, Over)
	case Waiting:
		return phases(Entering, Over)
	case Running:
		return phases(Deciding, Over)
	case Racing:
		return phases(Settling, Deciding, Sleeping, Over)
	case Settling:
		return phases(Deciding, Over)
	case Deciding:
		return phases(Sleeping, Over)
	case Sleeping:
		return phases(Entering, Over)
	}
	return 0
}

// followsTry is follows of an attempt of a round.
func (p Phase) followsTry() uint16 {
	switch p {
	case Entering:
		return phases(Waiting, Running, Over)
	case Waiting:
		return phases(Entering, Over)
	case Running:
		return phases(Over)
	}
	return 0
}

// assertAdvance advances a call and asserts that its phase and the phases of its attempts follow from
// the ones before.
func (p *Plan) assertAdvance(c *Call, e *Event, now clock.Mark) Effect {
	before, tries := c.Phase, c.Tries()
	var was [MaxTries + 1]Phase
	for k := uint8(1); k <= tries; k++ {
		was[k] = c.Try(k).Phase
	}
	effect := p.advance(c, e, now)
	assert.That(c.Phase == before || before.follows()&(1<<c.Phase) != 0, "pipeline: the phase of a call follows from the one before")
	if before == Racing && c.Phase == Racing {
		assert.That(c.Tries() == tries || c.Tries() == tries+1, "pipeline: a round gets one attempt at a time")
		for k := uint8(1); k <= tries; k++ {
			next := c.Try(k).Phase
			assert.That(next == was[k] || was[k].followsTry()&(1<<next) != 0, "pipeline: the phase of an attempt follows from the one before")
		}
	}
	return effect
}

// assertCall asserts what holds of a call that has left the cells of its last effect.
func (p *Plan) assertCall(c *Call) {
	assert.That(c.Tries() <= MaxTries, "pipeline: a round has at most MaxTries attempts")
	assert.That((c.Race == nil) == (p.hedge < 0), "pipeline: a plan with a hedge has rounds")
	assert.That(p.sound(c), "pipeline: a call holds permits of steps that it has entered, and is in a phase that the plan has")
	live := 0
	for k := uint8(1); k <= c.Tries(); k++ {
		if c.Try(k).Phase != Over {
			live++
		}
	}
	assert.That(live == 0 || c.Phase == Racing || c.Phase == Settling, "pipeline: attempts of a round live in it alone")
	assert.That(live > 0 || c.Phase != Racing, "pipeline: a round has an attempt that lives")
}

// assertEffect asserts that an effect fits the phase of the call, whose cells it has left: above
// all that a call which is over holds nothing.
func (p *Plan) assertEffect(c *Call, e *Effect) {
	p.assertCall(c)
	in := func(mask uint16) bool { return mask&(1<<c.Phase) != 0 }
	switch e.Do {
	case Enter, SetOut:
		assert.That(c.Try(e.Attempt).Phase == Entering, "pipeline: an attempt that enters steps is entering")
	case Start:
		assert.That(c.Try(e.Attempt).Phase == Running, "pipeline: an attempt that starts is running")
	case Consult:
		assert.That(c.Phase == Deciding, "pipeline: a call that consults is deciding")
	case Sleep:
		assert.That(c.Phase == Sleeping, "pipeline: a call that sleeps is sleeping")
	case Watch, Fail, Drop:
		assert.That(c.Phase == Racing, "pipeline: an attempt is dropped, or fails beside others, in a round")
	case Lose, Continue:
		assert.That(c.Phase == Settling, "pipeline: attempts lose after the round is over")
	case Return, Refuse:
		assert.That(c.Phase == Over, "pipeline: a call that ends is over")
	case GiveUp:
		assert.That(!in(phases(Settling)), "pipeline: no wait ends while a round is settled")
	}
	if c.Phase != Over {
		return
	}
	for k := range c.Tries() + 1 {
		a := c.Try(k)
		assert.That(a.Held|a.Phantom == 0, "pipeline: a call that is over holds no permit and no place in a queue")
	}
}
