// Package slidinglog limits a count in every window of the period's length,
// exactly: it keeps the mark of each admission for as long as it counts.
//
//	admitted at t when  cost + what was admitted in (t - D, t] <= count
//
// An admission at s counts in [s, s + D). Admissions at one mark share an entry;
// an entry is forgotten with the first admission after it has stopped counting. To
// admit costs O(1) on average, to refuse O(log n) in the number of marks.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L9: no window of the period's length, wherever it begins, holds more than
//     count permits.
//   - L2: a refusal's mark is exact: refused before it, admitted at it.
//   - L3: a refusal changes nothing.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the count is refused for good, with its own reason.
//   - L11: at s + D an admission no longer counts.
//   - L13: a permit that is refunded while it counts is removed from the log. Later
//     refunds return nothing.
//   - L16: after a period without use there is exactly the count.
//   - G10: the log has at most count marks, and count is at most MaxCount.
//   - G20: encoded, a mark with a cost of 1 takes at most 8 bytes up to a period
//     of a year; a greater cost takes one byte more, from 130 on two.
//   - G16: reconfigured, admissions count for as long as they would have; a
//     changed period holds for later admissions.
//
// The log is what the sliding counter (package slidingcounter) estimates with two
// counts, at the price of memory for each admission.
//
// Source: the sorted set of the sliding window log, as in redis.io's patterns and
// Kong's sliding window. There refused requests are often logged, too; here they are
// not.
package slidinglog
