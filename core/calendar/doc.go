// Package calendar divides the line of marks into the days, weeks or months of a time
// zone. It is arithmetic on the rules of the zone, without a database of zones and
// without a clock: the configuration says what wall time mark 0 has.
//
// A day begins with the first moment of its date in the zone, a week with its Monday
// (ISO 8601), a month with its first day. A day on which the zone changes its offset is
// as much shorter or longer. Where a change of the offset skips midnight, the day begins
// with the first moment behind the gap; where it repeats an hour around midnight, the day
// ends at the first of the two midnights, and the repeated hour is a part of the day whose
// date it has.
//
// Source: the rules of zones follow POSIX.1-2024, section 8.3 (TZ), with the hours
// of RFC 9636 section 3.3.1, in the form Mm.w.d; days from dates as in Hinnant, "chrono-
// compatible low-level date algorithms".
package calendar
