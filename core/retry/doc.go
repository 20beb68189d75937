// Package retry decides after an attempt whether another one follows, and when.
//
// It checks, in this order: whether the outcome is worth another attempt (fail,
// throttle, timeout), whether attempts are left, whether the answer asked for no
// retry, whether the next attempt would start before the deadlines above, and whether
// it would start less than MaxElapsed after the call reached the retry.
// Afterwards the driver asks the cells whether a breaker will still be open then, and
// whether the budget grants the retry; a check that ends the call spends nothing.
//
//	next attempt = end of this one + max(backoff, the answer's retry-after)
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - R1: no more than Attempts start, the first included.
//   - R2 to R4: as in package backoff.
//   - R5: nothing starts at or after a deadline.
//   - R6: an answer's own delay is a minimum, and only deadlines bound it: if it
//     reaches one the call ends at once.
//   - R7: a success, an error of the caller or a cancelled attempt ends the call.
//   - R9: it only prevents new attempts; running ones continue.
//
// Sources: Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015;
// RFC 9110 section 10.2.3 (Retry-After); gRFC A6 (pushback).
package retry
