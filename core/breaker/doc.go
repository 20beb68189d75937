// Package breaker is a circuit breaker: it counts the outcomes of calls to a
// dependency, and refuses calls for a while when too many failed.
//
//	closed     counts outcomes in a window; opens when, of at least Minimum,
//	           failed / total >= FailureRate  or  slow / total >= SlowRate
//	open       refuses until the open time is over
//	half-open  lets Probes attempts pass; when as many outcomes are in, the same
//	           rates open or close it
//
// The window is that of the last Count calls (two bits each), of a Span of time in
// Count buckets cut from the mark at which the generation began, or of Count failures
// in a row. An operator can also force a breaker open, force it closed, or let it
// count without opening.
//
// Failures in a row are forgotten Forget after the last of them: the count is 0 at that mark.
// SlowConsecutive slow outcomes in a row open it, too. An answer may open it for a time that
// it says (ObeyRetryAfter). After half-open has closed it, a ramp may admit a share of the
// calls that rises to all of them: of n calls floor(sum of the shares) pass. It starts in
// the Initial mode.
//
// With HalfOpenMax a breaker without calls alternates between open and half-open. No
// outcome causes these openings, so the open time does not grow with them; it is nominal,
// without jitter. From the opening MaxGrowth on it no longer grows at all.
// So the state after any time is computed in a bounded number of operations and does
// not depend on how that time is split; a step reports at most five changes, and no
// change of a cycle before the last one.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - B1: the changes are those above, and those by an operator.
//   - B2: open, it refuses before its deadline and admits at it. The change
//     happens at that mark, whether or not a call comes.
//   - B3: half-open, at most Probes attempts are pending or finished.
//   - B4: it is never stuck: the place of a probe that ends without a counted outcome
//     is free at once, that of a probe that never ends after the open time; with
//     HalfOpenMax half-open as a whole ends in open instead.
//   - B5: below Minimum it never opens; at exactly the rate it does.
//   - B6: outcomes of attempts that passed in an older generation are not counted.
//   - B7: throttle, ignore and cancel are not counted.
//   - B8: the sums are those of a recount of the window.
//   - B9: its refusals are not outcomes.
//   - B10: the open time grows by the backoff with the openings since it was last
//     closed that outcomes caused, up to the maximum, and with no other.
//   - B11: it closes after Probes successes.
//   - B12: of the calls in a ramp the floor of the sum of their shares pass.
//   - B13: a new breaker and one that is reset are in the initial mode.
//   - B14: an answer opens it for the time that it says, at most for the bound.
//   - B15: as many slow outcomes in a row as configured open it.
//   - B17: failures in a row are forgotten at Forget after the last one, and not before.
//   - G3: a mark before the latest change counts as its mark.
//   - G7, G19: the state does not depend on how time is split into steps, and the
//     work of a step does not grow with time.
//   - G16: reconfigured, mode and deadline stay; a changed window starts without
//     outcomes; pending probes stay pending.
//   - G17, G18: a peek, a refusal and, without a ramp, an admission to a closed breaker
//     change nothing; nor does one more success in a window of successes.
//   - G20, G22: encoded, a breaker takes 39 bytes and two bits a call, 40 and three
//     numbers for each bucket that counted, 64 open or of failures in a row;
//     half-open 39 and 5 for each pending probe, where its times are shorter than a
//     day and its probes seconds apart. The most is MaxSize. Bytes of another window
//     are refused.
//
// A closed breaker does not store its permits: their holder must record each outcome
// once.
//
// Sources: Nygard, Release It!, 2007; the windows, rates and defaults follow
// resilience4j's CircuitBreaker, the consecutive count sony/gobreaker. That the place
// of a probe which hangs becomes free is Sluice's own rule (resilience4j#903,
// opossum#276).
package breaker
