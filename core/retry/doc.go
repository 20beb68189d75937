// Package retry decides after an attempt whether another one follows, and when.
//
// It checks, in this order: whether the outcome is worth another attempt (fail,
// throttle, timeout), whether attempts are left, whether the answer asked not to
// be tried again, and whether the next attempt would start before the deadlines
// above. Whether a breaker will still be open then, and whether the budget grants
// the retry, the driver asks of their cells afterwards; nothing is spent by a
// check that ends the call.
//
//	next attempt = end of this one + max(backoff, what the answer told)
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - R1: no more than Attempts start, the first included.
//   - R2 to R4: those of package backoff.
//   - R5: nothing starts at or after a deadline.
//   - R6: an answer's own delay is a floor, bounded by nothing but deadlines: if
//     it reaches one the call ends at once.
//   - R7: a good answer, the caller's own mistake or a caller that gave up ends
//     the call.
//   - R9: what does not start is a new attempt; running ones are left alone.
//
// Sources: Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015;
// RFC 9110 section 10.2.3 (Retry-After); gRFC A6 (pushback).
package retry
