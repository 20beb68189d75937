// Package adaptive bounds how many calls run at once by a limit that follows the
// capacity of the dependency: additive increase, multiplicative decrease.
//
//	admitted when  held + cost <= limit, rounded down, or nothing is held
//	raised by      cost x increase / limit, at most increase, by a timely success while
//	               2 x held >= limit
//	lowered to     limit x (1 - decrease), rounded down, by a failure of an attempt
//	               that was admitted after the limit was last lowered
//
// A failure is the outcome fail, timeout or throttle, or a success that took longer
// than Over. Other outcomes free the places and do not change the limit. One success
// adds a part of a place, so that the limit rises by Increase when as many calls as
// it has places succeed: by Increase in the time of one call.
//
// A call takes as many places as its cost, at least one, and gives back as many. One
// whose cost is above the maximum is refused (capacity). One whose cost is above the
// limit is admitted when nothing is held: without that, a limit below the costs of all
// calls would never have a success by which it rises.
//
// The calls of one round fail together when the dependency does. Only the first
// failure of a round lowers the limit: that of an attempt admitted at or before
// the mark of the last decrease does not lower it again.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - A1: minimum <= limit <= maximum, in every state.
//   - A2: the limit does not rise while less than half of it is in use.
//   - A3: a failure takes the share Decrease, once for a round; a timely success
//     adds cost x Increase / limit, at most Increase, and never lowers.
//   - A11: held is the sum of the costs, and exceeds the limit by one call alone, or by
//     calls that were admitted before the limit was lowered.
//   - A9: had an attempt taken longer, the limit would not be larger.
//   - A10: an attempt that began after its end, or at no mark, counts as timely.
//   - G3: a mark before the latest change counts as its mark.
//   - G13: late, duplicate and unknown permits are stale and change nothing.
//   - G16: reconfigured, holders keep their places, and the limit moves to the
//     nearest bound where it lies outside the new ones; no call is admitted until
//     holders are below it.
//   - G17: a peek answers as an acquire at its mark, and changes nothing.
//   - G20: encoded, it takes a few bytes for each place that is held.
//
// A refusal names no mark: when a place is free depends on others. No call waits.
//
// Sources: Chiu and Jain, Analysis of the Increase and Decrease Algorithms for
// Congestion Avoidance, 1989; AIMDLimit of Netflix's concurrency-limits, whose
// defaults these are: 20 at first, at most 200, a backoff ratio of 0.9, 5 s. Its
// minimum of 20 is 1 here, as that of failsafe-go's adaptive limiter, so that a
// dependency may be relieved of nearly all load. Its report 155: the limit of a
// success at the maximum must not fall.
package adaptive
