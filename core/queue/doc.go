// Package queue is the bounded queue of waiters that limiters and bulkheads
// share: in the order of arrival, and beside it in the order in which waits end.
// Joining and both ends cost O(1) while waits are equally long, a ticket is found
// in O(log n), and leaving from the middle moves those on the shorter side.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - K5: both orders stay right after every removal; equal ends are in the order of
//     arrival.
//   - G12, G13: a ticket names one waiter and never another's. Tickets are numbered
//     through the life of a queue, also while it is empty.
//   - G9: the encoding has only the waiters; everything else follows from them.
//   - G10, G20: memory and encoding follow the waiters, and shrink with them.
package queue
