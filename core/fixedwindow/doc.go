// Package fixedwindow limits a count for each window of time. A window opens
// with the first admission that finds none open, and lasts the period or, with a
// calendar, until the end of the day, week or month that it begins in.
//
//	admitted at t when  t is outside [start, end), or used + cost <= count
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L8: no window has more than count permits; any interval of the period's length, or
//     of the shortest day, week or month, has at most twice as many, and may have
//     them (the script basics.txt shows it).
//   - L2: a refusal's mark, the end of the window, is exact.
//   - L3: a refusal changes nothing, and opens no window.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the count is refused for good, with its own reason.
//   - L11: windows are half open; at its end one is over.
//   - L13: a permit that is refunded while its window is open no longer counts, and
//     the window stays as it is. A window that was opened at this same mark, and is
//     empty after the refund, counts as never opened. Later refunds return nothing.
//   - G16: reconfigured, used permits stay used, and the window keeps its end.
//
// Source: the common algorithm, as in redis.io's INCR pattern; windows of a period begin
// here with the first admission and not at times of the wall clock, so that clients do
// not synchronise. Quotas of a day or a month, which people read in a contract, have the
// calendar.
package fixedwindow
