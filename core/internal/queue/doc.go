// Package queue is the bounded queue of waiters that limiters and bulkheads
// share: in the order of arrival, and beside it in the order in which waits end.
// Joining, leaving by ticket and both ends cost O(1) while waits are equally
// long; else joining costs a walk past those that end later.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - K5: both orders are kept through every leaving; equal ends stand in the
//     order of arrival.
//   - G12, G13: a ticket names one waiter and never another's, though its slot
//     is used again.
//   - G9: the encoding keeps the slots, since tickets name them; links that do
//     not lead through the waiters are refused.
package queue
