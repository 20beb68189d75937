// Package limiter puts a bounded queue before a counter (tokenbucket,
// fixedwindow, slidingcounter), for callers that rather wait than be refused.
//
// A caller whose turn, by the counter's arithmetic and with those ahead of it,
// comes no later than Wait from now stands in the queue; else it is refused at
// once (wait), as it is when the queue is full. Serve grants the head when its
// turn has come, one waiter a step, so that a driver lets each do what it does
// next before the next one is served.
//
// Guarantees, by their names in GUARANTEES.md, beside those of the counter:
//
//   - L12: who waits is served in the order of arrival, and no later than told.
//     Nobody overtakes: a great cost at the head is not passed by small ones,
//     nor by callers that would not wait. With Newest the newest is served
//     first, a full queue puts out its oldest, and no turn is told.
//   - L2: the mark of a refusal is the least at which the same caller would be
//     admitted or could wait, if nothing else happened.
//   - K2: no more than Queue callers wait, but for those of a longer queue
//     before a reconfiguration.
//   - K6, K7: a wait ends after Wait at the latest. At its very end a turn that
//     has come is had.
//   - G4: after a Tick and serving until nothing is served, the next wake is
//     later.
//   - G12: a waiter is granted, dropped, or leaves: one of them, once.
//   - G16: reconfigured, waiters keep their places and the ends of their waits;
//     those whose cost can no longer be admitted are put out (capacity).
//
// Whoever waits keeps the state: its ticket is good in this state alone.
//
// Source: policy/REFERENCE.md#queues. Peers: resilience4j's RateLimiter has a wait
// and no queue's bound; golang.org/x/time/rate a reservation and no queue.
package limiter
