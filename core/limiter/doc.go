// Package limiter limits a rate by one of five algorithms, with a bounded queue
// before it for callers that prefer a wait to a refusal. The algorithms are
// tokenbucket, fixedwindow, slidingcounter, slidinglog and leakybucket: each has its
// own arithmetic; this package has the actions, the queue, the permits and the
// encoding for all of them.
//
// A caller is queued if its turn, by the arithmetic of the algorithm and behind the
// waiters ahead of it, comes no later than Wait from now. Otherwise it is refused at
// once: with wait if the turn is later, with full if the queue is full, with deadline
// if the turn does not come before its deadline. Serve grants the head when its turn
// has come, one waiter in each step, so that this waiter acts before the next one is
// served.
//
// Guarantees, by their names in GUARANTEES.md, beside those of the algorithms:
//
//   - L12: waiters are served in the order of arrival, and no later than announced.
//     No caller overtakes: neither a small cost nor a caller that would not wait
//     overtakes a great cost at the head. With Newest the newest is served first, a
//     full queue drops its oldest waiter, and no turn is announced.
//   - L2: the mark of a refusal is the least at which the same caller, with its
//     deadline later by the same time, would be admitted or could wait, if nothing
//     else happened.
//   - K2: at most Queue callers wait, except for waiters of a longer queue before a
//     reconfiguration.
//   - K6, K7: a wait ends after Wait at the latest, and ends come before what begins:
//     no step grants a waiter whose wait is over, whether or not a tick came in time.
//     A turn that comes exactly at the end of the wait is still granted.
//   - G3: an earlier mark than that of the last change counts as that one. A driver that
//     keeps the one word of a token bucket in place of the state has no such mark, and is
//     stricter: see package tokenbucket.
//   - G4: after a Tick and serving until nothing is served, the next wake is
//     later.
//   - G12: a wait ends exactly once: the waiter is granted, dropped, or leaves.
//   - G13: permits are void after a Reset and under another algorithm. A refund or a
//     settle of a void permit is stale, also at the same mark.
//   - G16: reconfigured, waiters keep their places and the ends of their waits; those
//     whose cost can no longer be admitted are dropped (capacity). Another algorithm
//     starts with the whole permits that are free.
//   - G17, G18: a peek changes nothing, at any mark; a refusal and a stale action
//     leave the state as a Tick would, and the answer says whether it changed.
//   - G19: a refusal costs the same however many callers wait, once the turns of the
//     queue have been computed.
//   - G20: encoded, a limiter takes at most 64 bytes and what its waiters take; a
//     sliding log 24 bytes and 8 for each mark. A warm-up takes 9 more, blocks at most
//     18.
//
// With Block a refusal with rate changes the state: it counts, and may begin a block.
// Every call during a block is refused with blocked, and changes nothing; G18 holds of
// those. A Transition ends a block and keeps its number, a Reset ends both.
//
// With WarmUp a token bucket counts on a clock of its own, which is slow while the bucket
// is cold; see the page below. Its guarantees hold on that clock, which is never faster
// than the marks.
//
// Settle reports how much of a cost was used. The unused part is returned as by a
// later refund. Use beyond the cost is taken at the mark of the settle although it is
// not free: a bucket goes into debt, a window or a log counts more than its count.
// The excess of a fixed window ends with the window.
//
// A step ends all waits that are over: it has at most as many effects as the queue has
// waiters, MaxQueue. Drivers end waits one by one as they are over, so that only a cell
// that nothing has stepped meanwhile comes to that. A refusal and a peek cost the same however many
// callers wait, but for the first one after a change: that computes the turns of all waiters where
// the algorithm has no closed form, and newest first of those that are served in their wait.
//
// An encoded state is read under any settings of the queue. It names the algorithm
// and those settings by which a count is read: of a token bucket interval and burst,
// of a sliding counter the period, of a leaky bucket the interval, of the others
// none. Under other settings it is refused with reducer.ErrConfiguration, and Inherit
// carries it over.
//
// A ticket is valid only in the state that issued it: a state with waiters must be
// kept. The holder of a permit must refund or settle it at most once, and must not
// refund it after its use: the state does not store permits.
//
// Source: policy/REFERENCE.md#queues. Peers: resilience4j's RateLimiter has a wait
// and no bound of a queue; golang.org/x/time/rate a reservation and no queue.
package limiter
