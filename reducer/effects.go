package reducer

// EffectKind says what a step did to others than its caller, or to the cell.
type EffectKind uint8

// The kinds of effects.
const (
	// Grant: the waiter Caller has the permit.
	Grant EffectKind = iota + 1
	// Drop: the waiter Caller waited in vain, for Reason.
	Drop
	// Lapse: the lease of Permit, held by Caller, ran out.
	Lapse
	// Change: a breaker went to another state. Reason is ReasonOpen for a rate
	// that tripped it, else none; Permit.ID is the new state, Permit.Generation
	// the new generation.
	Change
)

// Effect concerns somebody else than the caller of a step.
type Effect struct {
	Kind   EffectKind
	Reason Reason
	Caller uint64 // as given by Acquire
	Permit Permit
}

// Out collects effects. A driver owns one and reuses it: out = out[:0].
type Out []Effect

// Effects is all that a step has to say.
type Effects struct {
	Answer Answer
	Others Out
}
