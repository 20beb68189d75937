// Package breaker is a circuit breaker: it judges the outcomes of calls to a
// dependency, and refuses calls for a while when too many were bad.
//
//	closed     counts outcomes in a window; opens when, of at least Minimum,
//	           failed / total >= FailureRate  or  slow / total >= SlowRate
//	open       refuses until the open time is over
//	half-open  lets Probes attempts pass; when as many outcomes are in, the same
//	           rates open or close it
//
// The window is that of the last Count calls (two bits each), of a Span of time
// in Count buckets cut from the mark at which the generation began, or of Count
// failures in a row. By hand a breaker is also forced open, forced closed, or
// made to count without opening.
//
// With HalfOpenMax a breaker that no caller asks opens and is half-open in turns.
// The open time after a half-open stay without a probe is nominal, without
// jitter, and from the opening MaxGrowth since it was last closed on the open time
// grows no more. So the state after any time is computed in a bounded number of
// operations and does not depend on how that time is split; a step tells of at
// most five changes, and of none of the cycles before the last one.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - B1: the changes are those above, and those by hand.
//   - B2: open, it refuses before its deadline and admits at it. The change
//     happens at that mark, whether or not a call comes.
//   - B3: half-open, no more than Probes attempts are out or done.
//   - B4: it is never stuck: a probe that ends without a vote gives its place
//     back at once, one that never ends after the open time; with HalfOpenMax
//     half-open as a whole ends in open instead.
//   - B5: below Minimum it never opens; at exactly the rate it does.
//   - B6: outcomes of attempts that passed in an older generation count nowhere.
//   - B7: throttle, ignore and cancel give no vote.
//   - B8: the sums are those of a recount of the window.
//   - B9: its refusals are no outcomes.
//   - B10: the open time grows with the openings since it was last closed as the
//     backoff says, up to its greatest.
//   - B11: with good outcomes it closes after Probes of them.
//   - G3: a mark before the latest change counts as its mark.
//   - G7, G19: time may be split as one likes, and no step grows with it.
//   - G16: reconfigured, mode and deadline stay; a changed window starts without
//     outcomes; probes that are out stay out.
//   - G17, G18: a peek, a refusal and an admission to a closed breaker change
//     nothing; nor does one more success in a window of successes.
//   - G20, G22: encoded, a breaker takes 39 bytes and two bits a call, 40 and 12
//     for each bucket that counted, 64 open or of failures in a row; half-open 39
//     and 8 for each probe that is out, where its times are shorter than a day.
//     Bytes of another window are refused.
//
// Closed, a breaker does not know its permits: its holder must record an outcome
// once.
//
// Sources: Nygard, Release It!, 2007; the windows, rates and defaults follow
// resilience4j's CircuitBreaker, the consecutive count sony/gobreaker. That a
// probe which hangs gives its place back is Sluice's own (resilience4j#903,
// opossum#276).
package breaker
