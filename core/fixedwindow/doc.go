// Package fixedwindow limits a count for each window of time. A window opens
// with the first admission that finds none open and lasts the period.
//
//	admitted at t when  t is outside [start, end), or used + cost <= count
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L8: no window has more than count permits; a stretch of the period's
//     length anywhere on the line has at most twice as many, and may have them
//     (the script basics.txt shows it).
//   - L2: a refusal's mark, the end of the window, is exact.
//   - L3: a refusal changes nothing, and opens no window.
//   - L5: a cost is taken whole or not at all. Cost 0 passes and takes nothing.
//   - L6: a cost above the count is refused for good, with its own reason.
//   - L11: windows are half open; at its end one is over.
//   - L13: what is given back while its window is open counts no longer, and the
//     window stays as it is. A window that was opened at this very mark, and in
//     which nobody is left, has not been opened. Later nothing comes back.
//   - G16: reconfigured, what is used stays used, and the window ends when it
//     would have.
//
// Source: the common algorithm, as in redis.io's INCR pattern; windows here are
// cut from the first admission and not from the clock on the wall, so that
// clients do not move in step.
package fixedwindow
