// Package leakybucket spaces calls: they depart one after another at an even
// interval, without a burst. It is the leaky bucket as a queue; the leaky bucket as a
// meter is the token bucket of package tokenbucket.
//
// One mark says when the next call may depart, and a duration beside it how much of the time
// until then was charged since the last departure. With the interval
// T = period / count, rounded up to a whole nanosecond, a cost c departs at t
// when
//
//	c <= count  and  t >= next
//
// and moves next to t + c x T. A call that comes too early is refused, or waits
// for its turn in the queue of package limiter.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L12: after a departure of cost c the next one is at least c x T later;
//     those that wait depart in order, each as soon as it may.
//   - L1: any window of length W admits at most the cost of its first departure plus
//     W/T, refunds included.
//   - L2: a refusal's mark is exact: refused before it, admitted at it.
//   - L3: a refusal changes nothing.
//   - L6: a cost above the count is refused for good, with its own reason. Cost 0
//     passes and takes nothing.
//   - L11: a call departs exactly at the mark of the next departure.
//   - L13: a refund moves the next departure only if no call departed since: then it
//     is earlier by c x T, or by what is left of that, and a waiter moves up with it.
//     What was charged since stays. At the mark of the grant a refund leaves no trace.
//   - L16: after any idle time one call departs at once, and not two.
//   - G11: near the end of the line a departure stays there; nothing overflows.
//   - G16: reconfigured, the next departure keeps its mark; the new interval applies
//     to later departures.
//
// A cost of n is not n costs of 1 here: n calls are spaced, one call of cost n
// departs as a whole, and the calls behind it wait n intervals.
//
// Sources: Turner, New directions in communications, 1986; ITU-T I.371. nginx's
// limit_req is this with a queue and without costs.
package leakybucket
