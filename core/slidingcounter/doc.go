// Package slidingcounter approximately limits a count in any interval of the period's
// length, with two counts: the count of the present window and the count of the one before,
// weighted by how much of it the interval still covers.
//
//	admitted when  previous x (D - elapsed) + (current + cost) x D <= count x D
//
// in exact integers, D being the span of the present window. Windows follow each
// other from the first admission; when two have passed without one, the next
// admission begins new windows.
//
// A low count makes long waits: with a count of 1, what was admitted in a window
// leaves no room until the window after it is over. At 1 a minute a call at 0s and
// the next one at 2m are admitted, and none in between. Where that is too strict,
// sliding-log admits the next call at 1m, at the price of a mark for each admission.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L10: it differs from a log of all admissions only as far as the admissions of the
//     previous window were not spread evenly: no number is truncated, also at low
//     rates. No window has more than count permits, so no interval has more than
//     twice as many.
//   - L2: a refusal's mark is exact.
//   - L3: a refusal changes nothing.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the count is refused for good, with its own reason.
//   - L11: windows are half open.
//   - L13: a refunded permit no longer counts, while its window is the present one or
//     the one before. A window that began at this same mark, and is empty after the
//     refund, counts as never begun.
//   - G16: reconfigured, the counts stay; a changed period begins with the next
//     window.
//
// Source: Cloudflare, How we built rate limiting capable of scaling to millions of
// domains, 2017. There windows follow the wall clock, and refused requests are
// counted; here neither.
package slidingcounter
