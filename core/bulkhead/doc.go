// Package bulkhead bounds how many calls run at once, with a bounded queue before it
// and an optional lease, after which a place is free again.
//
//	admitted when  held + cost <= concurrent, and no caller waits
//
// A call takes as many places as its cost, at least one, and gives back as many; one
// whose cost is above concurrent is refused (capacity). Places that become free go to
// the queue: Serve grants them to the next waiter, one in each step, after everything
// that ends at that mark. A waiter that needs more places than are free keeps those
// behind it waiting.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - K1, K9: held <= concurrent, except for holders from before a reconfiguration;
//     held is the sum of the costs.
//   - K2: at most Queue callers wait, with the same exception.
//   - K3: places are conserved: each grant is numbered, and ends by exactly one of a
//     release, a cancel and its lapse.
//   - K4: after serving, callers wait only while the next one needs more places than
//     are free.
//   - K5: the oldest waiter is served first; with Newest the newest, and a full queue
//     drops its oldest waiter.
//   - K6, K7: a wait ends after Wait at the latest, and a waiter whose wait is over
//     is not served: at one mark ends come first.
//   - K8: late, duplicate and unknown releases are stale and change nothing.
//   - K10: with a queue of 0 no caller waits.
//   - G3: a mark before the latest change counts as its mark.
//   - G17: a peek answers as an acquire by a caller that does not wait, and ends
//     neither leases nor waits.
//   - G20: encoded, a bulkhead takes a few bytes for each place that is held and
//     for each waiter, whatever it held before.
//   - G16: reconfigured, holders and waiters keep their places; no caller is admitted
//     until holders are below a lowered maximum.
//
// A refusal names no mark: when a place is free depends on others. A permit names a
// slot, the lowest that was free, and the number of its grant; it is valid only in
// this state.
//
// SharedMachine is the form for members that share a bulkhead, such as the workers of a
// proxy that keep its state as bytes and step it by compare-and-set. It has no queue,
// and a member has one lease for all of its places, so that its state has a few bytes
// for each member in place of each holder. K1, K3, K8 to K10 and the G above hold for
// it too; it answers as a Machine all of whose leases of a member are renewed whenever
// the member is admitted or renews one. A member releases each of its permits once:
// its places are not distinguished.
//
// Sources: Nygard, Release It!, 2007; resilience4j's SemaphoreBulkhead and
// failsafe's Bulkhead, with their reports of lost permits (failsafe#365, #393).
package bulkhead
