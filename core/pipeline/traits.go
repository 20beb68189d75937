package pipeline

import (
	"math/bits"

	"github.com/sluice-go/sluice/core/mechanism"
)

// with returns the steps that have a trait, as a mask.
func (p *Plan) with(trait mechanism.Traits) uint16 {
	return p.having[bits.TrailingZeros32(uint32(trait))]
}

// stepTraits returns the traits of a step that its mechanism and configuration do not have.
func stepTraits(step *Step, s *stage) mechanism.Traits {
	return mechanism.PerKey.If(len(step.Per) > 0) |
		mechanism.Strict.If(len(step.Per) > 0 && step.Missing != MissingShare) |
		mechanism.Shadow.If(step.Shadow) |
		mechanism.Conditional.If(s.when.Some()) |
		mechanism.Partial.If(step.Enforce.Partial()) |
		mechanism.ShareByAttribute.If(step.Enforce.Partial() && step.Enforce.By != "")
}

// note enters a step in the masks of its traits.
func (p *Plan) note(i int, has mechanism.Traits) {
	for p.traits |= has; has != 0; has &= has - 1 {
		p.having[bits.TrailingZeros32(uint32(has))] |= 1 << i
	}
}

// combine makes the masks that follow from several traits, and the one of timeouts, which the
// inlined deadlineAbove reads.
func (p *Plan) combine() {
	p.timeouts = p.with(mechanism.Cuts)
	p.marked = p.timeouts | p.with(mechanism.Repeats)
	p.slowEntry = p.with(mechanism.Strict) | p.with(mechanism.SettlesAll)
	p.single = p.with(mechanism.Holds) &^ p.with(mechanism.Costs)
	if p.retry >= 0 {
		p.breakers = p.with(mechanism.Votes) &^ p.with(mechanism.Shadow) &^ (2<<p.retry - 1)
	}
}

// fastTraits are the traits that a fast path deals with: it asks cells at once, keeps the
// permits of one attempt, and leaves the cells when the attempt succeeds.
const fastTraits = mechanism.Asks | mechanism.Refunds | mechanism.Votes | mechanism.Holds | mechanism.Quotas |
	mechanism.Leases | mechanism.Observes | mechanism.Keyed | mechanism.Cuts | mechanism.Repeats | mechanism.Modes |
	mechanism.Queues | mechanism.Obeys | mechanism.Timed |
	mechanism.PerKey | mechanism.Strict | mechanism.Shadow | mechanism.Conditional

// Fast reports whether a driver may take a call through the plan by a fast path, without a
// Call: the driver continues with a Call as soon as a cell does not admit at once, a function
// fails or a mark passes. A plan with a trait that fastTraits does not name is slow, and so is
// a plan with a trait that is added later.
func (p *Plan) Fast() bool { return p.traits&^fastTraits == 0 }
