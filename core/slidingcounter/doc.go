// Package slidingcounter limits about a count in any stretch of the period's
// length, with two counts: that of the present window and that of the one
// before, weighted by how much of it the stretch still covers.
//
//	admitted when  previous x (D - elapsed) + (current + cost) x D <= count x D
//
// in exact integers, D being the span of the present window. Windows follow each
// other from the first admission; when two have passed without one, the next
// admission starts anew.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L10: it differs from a log of all admissions as far as those of the
//     previous window were not spread evenly, and by nothing else: no number is
//     truncated, at low rates neither. No window has more than count permits, so
//     no stretch has more than twice as many.
//   - L2: a refusal's mark is exact.
//   - L3: a refusal changes nothing.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the count is refused for good, with its own reason.
//   - L11: windows are half open.
//   - L13: what is given back counts no longer, while its window is the present
//     one or the one before. A window that was entered at this very mark, and in
//     which nobody is left, has not been entered.
//   - G3: an old mark counts as the last one.
//   - G16: reconfigured, the counts stay; a changed period begins with the next
//     window.
//
// A state of counts remembers no permits: that one is given back at most once is
// for its holder to see to.
//
// Source: Cloudflare, How we built rate limiting capable of scaling to millions
// of domains, 2017. There windows are cut from the wall clock, and refused
// requests are counted; here neither.
package slidingcounter
