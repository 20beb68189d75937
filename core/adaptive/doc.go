// Package adaptive bounds how many calls run at once by a limit that follows the
// capacity of the dependency, by the outcomes of rounds of calls.
//
//	admitted when  held + cost <= limit, or nothing is held
//	good           a success that took at most Over; quick one that took half of it
//	late           a later success
//	cut            a timeout, a throttle, a failure that took Over or longer
//
// Other outcomes, a failure in time among them, free the places and say nothing: breakers
// and retries are for them. Over may be a share of the time that the attempt has at its
// admission, which its action has as the deadline.
//
// A round ends with the first outcome of an attempt that was admitted in it, once ten calls
// and as many places as the limit has have ended with an outcome that says something. Let
// bad be late and cut ones. Of these rules the first that applies moves the limit, within
// its bounds; a limit of which less than half was in use does not rise.
//
//  1. At most Tolerance of the outcomes are bad: the limit rises by Increase, or by its
//     logarithm to base ten, rounded down, where that is more. Before it was ever lowered it
//     rises by half, where all of it was used and three quarters of the good answers were
//     quick.
//  2. At most half are cut, three quarters of the good ones were quick, and late ones are at
//     most a tenth of them: calls hang, and not for want of room. The limit rises as in 1.
//  3. It is the round after a decrease, at most half are bad, more than 70 % of the share
//     before the decrease, and goodput fell by more than 60 % of the part by which the limit
//     fell: the decrease cost goodput and mended nothing. The limit comes back, and is held
//     for 1 round, each time twice as many, up to 32, and 1 again after a round as in 1.
//  4. The limit is held, and at most half are cut: it stays, or rises by as much as in 1
//     after a decrease where bad outcomes are less than 130 % of the share before that.
//  5. Otherwise the limit falls by Decrease, or by half of the share of bad outcomes where
//     that is more, or by half where most are bad and Decrease is less, rounded down to whole
//     places.
//
// Late and cut outcomes of attempts from before a decrease do not count in the round after
// it: they are of the limit that was. All counts are of places. Goodput is good places by
// the time of the round until the step before the outcome that ends it, and a success that
// ends it counts as a quicker one would where that leads to a lower limit, so that a longer
// attempt never raises the limit.
//
// A call takes as many places as its cost, at least one, and gives back as many. One
// whose cost is above the maximum is refused (capacity). One whose cost is above the
// limit is admitted when nothing is held: without that, a limit below the costs of all
// calls would never have a success by which it rises. With a Lease, places that were
// neither given back nor renewed for so long are free again; what their holder does then
// says nothing.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - A1: minimum <= limit <= maximum, in every state.
//   - A2: the limit does not rise by a round in which less than half of it was in use.
//   - A3: a round of at most Tolerance bad outcomes never lowers; one of which most are cut
//     lowers by half, or by Decrease where that is more.
//   - A11: held is the sum of the costs, and exceeds the limit by one call alone, or by
//     calls that were admitted before the limit was lowered.
//   - A9: had an attempt taken longer, the limit would not be larger.
//   - A10: an attempt that began after its end, or at no mark, counts as timely.
//   - A12: while a tenth of the answers is good and the others fail in time, the limit leaves
//     the minimum.
//   - A13: when most outcomes are cuts the limit falls in every round.
//   - K3: places are conserved: each grant is numbered, and ends by exactly one of a
//     record, a release, a cancel and its lapse.
//   - G3: a mark before the latest change counts as its mark.
//   - G13: late, duplicate and unknown permits are stale and change nothing.
//   - G16: reconfigured, holders keep their places, and the limit moves to the
//     nearest bound where it lies outside the new ones; no call is admitted until
//     holders are below it.
//   - G17: a peek answers as an acquire at its mark, and changes nothing.
//   - G20: encoded, it takes a few bytes for each place that is held.
//
// A refusal names no mark: when a place is free depends on others. No call waits. A grant
// and its end take O(log n) of the most places that were held at once.
//
// Sources: Chiu and Jain, Analysis of the Increase and Decrease Algorithms for
// Congestion Avoidance, 1989; Netflix's concurrency-limits, whose defaults 20 at first, at
// most 200 and 5 s are, and whose limits fall by timeouts and refusals alone, too. Its
// minimum of 20 is 1 here, as in failsafe-go's adaptive limiter, so that a
// dependency may be relieved of nearly all load. Its report 155: the limit of a
// success at the maximum must not fall. The rules were compared by package sim/internal/overload.
package adaptive
