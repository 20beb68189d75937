// Package pipeline compiles a policy into an immutable plan and takes calls
// through it. A plan is a machine whose states are calls; the cells of its steps
// are the driver's.
//
// What a plan wants done it says in ranges, so that a driver and a plan exchange
// a few words a call: Enter (pass the steps from here on until one does not
// admit), Start, Consult (ask the breakers and the budget about a retry), Sleep,
// Return, Refuse, GiveUp; each after leaving the cells of a range, in reverse.
//
//	entering --all admit--> running --finished--> deciding --granted--> sleeping
//	   |  ^                    |                      |                    |
//	   |  +--granted-- waiting |                      |                 entering
//	   +---------> over <------+----------------------+
//
// What stands below a retry is passed anew by each attempt, what stands above it
// once.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - M1: a call is cut by the earliest deadline above what it is doing; at one
//     mark by the outermost.
//   - M4: admission is all or nothing: refused, dropped, cut or given up before it
//     runs, a call leaves what it passed in reverse order. Limiters get their
//     permits back, breakers no vote, bulkheads their place.
//   - M5: the order of the steps is the document's.
//   - M7: a step in shadow asks and counts alike and enforces nothing; where it
//     would wait, a phantom stands in the queue.
//   - B9: a refusal of the policy is no outcome for any breaker.
//   - R1, R5, R7, R9: those of package retry, for the call as a whole.
//   - G12: a call ends once, with one Return, Refuse or GiveUp.
//   - G2: an event that does not fit the phase of a call changes nothing.
//
// Source: policy/REFERENCE.md#the-way-of-a-call.
package pipeline
