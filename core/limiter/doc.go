// Package limiter limits a rate by one of five algorithms, with a bounded queue
// before it for callers that prefer waiting to being refused. The algorithms are
// tokenbucket, fixedwindow, slidingcounter, slidinglog and leakybucket: each has the
// arithmetic on what it counts; this package has the actions, the queue, the permits
// and the encoding, once for all of them.
//
// A caller whose turn, by the arithmetic of the algorithm and with those ahead of
// it, comes no later than Wait from now is queued; else it is refused at once (wait),
// as it is when the queue is full (full), and when its turn does not come before its
// deadline (deadline). Serve grants the head when its turn has come, one waiter a
// step, so that what a waiter does next comes before the next one is served.
//
// Guarantees, by their names in GUARANTEES.md, beside those of the algorithms:
//
//   - L12: waiters are served in the order of arrival, and no later than told.
//     No caller overtakes: a great cost at the head is not passed by small ones, nor
//     by callers that would not wait. With Newest the newest is served first, a full
//     queue puts out its oldest, and no turn is told.
//   - L2: the mark of a refusal is the least at which the same caller, its deadline
//     moved on with it, would be admitted or could wait, if nothing else happened.
//   - K2: no more than Queue callers wait, but for those of a longer queue
//     before a reconfiguration.
//   - K6, K7: a wait ends after Wait at the latest, and ends come before what
//     begins: no step grants a waiter whose wait is over, whether or not a tick came
//     in time. At the very end of a wait a turn that has come is had.
//   - G3: an earlier mark than that of the last change counts as that one.
//   - G4: after a Tick and serving until nothing is served, the next wake is
//     later.
//   - G12: a waiter is granted, dropped, or leaves: one of them, once.
//   - G13: permits are void after a Reset and under another algorithm. What is given
//     back or settled with one is stale, also at the same mark.
//   - G16: reconfigured, waiters keep their places and the ends of their waits;
//     those whose cost can no longer be admitted are put out (capacity). Another
//     algorithm takes over the whole permits that are free.
//   - G17, G18: a peek changes nothing, at any mark; a refusal and a stale action
//     leave the state as a Tick would, and the answer says whether it changed.
//   - G19: a refusal costs the same however many wait, once what is ahead was
//     foreseen.
//   - G20: encoded, a limiter takes at most 64 bytes and what its waiters take; a
//     sliding log 24 bytes and 8 for each mark.
//
// Settle says what was used of a cost. What was not used comes back as by a later
// refund. What was used beyond is taken at the mark of the settling although it is
// not free: a bucket goes into debt, a window or a log counts more than its count;
// what a fixed window counts beyond it is forgotten with the window.
//
// An encoded state is read under any settings of the queue. It names the algorithm
// and those settings by which a count is read: of a token bucket interval and burst,
// of a sliding counter the period, of a leaky bucket the interval, of the others
// none. Under other ones it is refused with reducer.ErrConfiguration, and taken over
// by Adopt.
//
// A ticket is good in the state alone that gave it: who waits keeps the state. That
// a permit is given back or settled at most once, and not after its use, is for its
// holder to see to: a state of counts remembers no permits.
//
// Source: policy/REFERENCE.md#queues. Peers: resilience4j's RateLimiter has a wait
// and no bound of a queue; golang.org/x/time/rate a reservation and no queue.
package limiter
