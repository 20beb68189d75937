package reducer

// EffectKind says what a step did to other callers or to the cell.
type EffectKind uint8

// The kinds of effects.
const (
	// Grant: the waiter Caller has the permit.
	Grant EffectKind = iota + 1
	// Drop: waiter Caller was removed from the queue without a permit; Reason says why.
	Drop
	// Lapse: the lease of Permit, held by Caller, ran out.
	Lapse
	// Change: a breaker changed its state. Reason is ReasonOpen for a rate
	// that tripped it, else none; Permit.ID is the new state, Permit.Generation
	// the new generation.
	Change
)

// Effect is a result of a step that is not for the caller of the step.
type Effect struct {
	Kind   EffectKind
	Reason Reason
	Caller uint64 // as given by Acquire
	Permit Permit
}

// Out collects effects. A driver owns one and reuses it: out = out[:0].
type Out []Effect

// Effects is the complete result of a step.
type Effects struct {
	Answer Answer
	Others Out
}
