// Package pipeline compiles a policy into an immutable plan and takes calls
// through it. A plan is a machine whose states are calls; the cells of its steps
// are the driver's.
//
// A driver reports what happened to a call (Advance, or Happen with a Host) and does
// what the plan answers: Enter (pass the steps from here on until one does not
// admit), Start, Consult (ask the breakers and the budget about a retry), Sleep,
// Return, Refuse, GiveUp; each after leaving the cells of a range, in reverse. Take
// is that loop. Both drivers, package core/drive in one thread and the concurrent
// runner, use it and supply a Host, which steps cells, starts attempts and takes
// decisions.
//
//	entering --all admit--> running --finished--> deciding --granted--> sleeping
//	   |  ^                    |                      |                    |
//	   |  +--granted-- waiting |                      |                 entering
//	   +---------> over <------+----------------------+
//
// Where to read: call.go has the states, events and effects; machine.go Advance, the machine
// itself, of which hedge.go is the part for rounds; take.go the loop that performs effects at
// a Host; apply.go, price.go, chaos.go and settle.go what conditions, costs, injections and
// charges add to it; plan.go what a policy compiles to, and the marks at which a call goes on.
// assert.go says which phase may follow which, and what holds of a call: every test checks it.
//
// Each attempt passes the steps below a retry; a call passes those above it once.
//
// With a hedge a call passes the steps down to it, and then a round of attempts
// begins, each of which passes the steps below the hedge with slots of its own:
//
//	entering --> racing --first ok or ignore, or last failure--> settling --> over
//	               |  ^                                              |
//	               +--+ hedge due: another attempt                   +--> deciding
//
// Events and effects name the attempt of a round, counted from 1; 0 is the call.
//
// Under a chaos step, the last one of a plan, an attempt that gets an injection is held:
// it runs for the steps above, and the driver calls Inject at the mark of InjectsAt, which
// starts it or ends it with the injected result.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - M1: the earliest deadline above the present step cuts a call; of several at one
//     mark, the outermost.
//   - M4: admission is all or nothing: a call that is refused, dropped, cut or
//     cancelled before it runs leaves the steps that it passed in reverse order.
//     Limiters refund its permits, breakers count no outcome, bulkheads free its
//     place.
//   - M5: the order of the steps is the document's.
//   - M7: a step in shadow acquires and counts as usual and enforces nothing; where
//     its call would wait, a phantom is in the queue.
//   - B9: a refusal of the policy is not an outcome for any breaker.
//   - R1, R5, R7, R9: as in package retry, for the call as a whole.
//   - H1 to H5: a round has at most one attempt and the hedge's maximum; none starts
//     before its delay; one wins and every other is cancelled once; a failure does
//     not end a round in which another attempt is active; a budget that refuses a
//     hedge does not end the round.
//   - D3, D4: an injected result is settled as one of the dependency at its mark; a step
//     in shadow injects nothing.
//   - G12: a call ends once, with one Return, Refuse or GiveUp.
//   - G2: an event that does not fit the phase of a call changes nothing.
//
// Source: policy/REFERENCE.md#the-way-of-a-call, #hedges and #injections.
package pipeline
