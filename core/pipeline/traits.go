package pipeline

import "github.com/sluice-go/sluice/core/mechanism"

// masks are the steps of a plan that have something in common, a bit for each step.
type masks struct {
	// Of one trait of the step each.
	asks       uint16 // a call asks the cell for a permit
	timeouts   uint16 // timeouts
	marked     uint16 // timeouts, and the retry: an attempt that passes them has a mark there
	votes      uint16 // breakers
	holds      uint16 // attempts hold their permits until they end
	keyed      uint16 // the step has a cell for each key
	strictKeys uint16 // of these, the step denies or skips a call without a value
	costed     uint16 // the step has a cost of its own
	priced     uint16 // of these, an attribute has the cost
	settles    uint16 // the end of an attempt that ran settles its permits
	ends       uint16 // of these, the step takes nothing before
	timed      uint16 // the cell takes the time that an attempt has
	obeys      uint16 // the cell takes the retry-after of an answer
	shadows    uint16 // the step is in shadow for every call
	when       uint16 // the step applies to some calls alone
	partial    uint16 // the step enforces for a share of the calls
	shared     uint16 // of these, an attribute decides

	// Of several traits, or of steps together.
	slowEntry uint16 // strictKeys and ends
	single    uint16 // a call takes one place, whatever its cost
	breakers  uint16 // breakers below the retry that are not in shadow for every call
	budgets   uint16 // the cell counts the first admission of a call
	tallies   uint16 // the budget counts how attempts end
	places    uint16 // an adaptive retry looks at these: without a free place it makes no attempt
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

// note enters a step in the masks that each follow from a trait.
func (p *Plan) note(i int, has mechanism.Traits) {
	p.traits |= has
	for _, m := range [...]struct {
		mask *uint16
		of   mechanism.Traits // one of these
	}{
		{&p.asks, mechanism.Asks},
		{&p.timeouts, mechanism.Cuts},
		{&p.marked, mechanism.Cuts | mechanism.Repeats},
		{&p.votes, mechanism.Votes},
		{&p.holds, mechanism.Holds},
		{&p.keyed, mechanism.PerKey},
		{&p.strictKeys, mechanism.Strict},
		{&p.costed, mechanism.Costs},
		{&p.priced, mechanism.Priced},
		{&p.settles, mechanism.Settles},
		{&p.ends, mechanism.SettlesAll},
		{&p.timed, mechanism.Timed},
		{&p.obeys, mechanism.Obeys},
		{&p.shadows, mechanism.Shadow},
		{&p.when, mechanism.Conditional},
		{&p.partial, mechanism.Partial},
		{&p.shared, mechanism.ShareByAttribute},
	} {
		if has&m.of != 0 {
			*m.mask |= 1 << i
		}
	}
}

// combine makes the masks that follow from several others.
func (p *Plan) combine() {
	p.slowEntry = p.strictKeys | p.ends
	p.single = p.holds &^ p.costed
	if p.retry >= 0 {
		p.breakers = p.votes &^ p.shadows &^ (2<<p.retry - 1)
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
