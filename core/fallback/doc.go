// Package fallback is what a caller gets in place of a refusal or a failure.
//
// It stands in for the outcomes fail, throttle and timeout and for a refusal of
// the policy; not for a good answer, the caller's own mistake, or a caller that
// gave up.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - G12: it marks the call's one end, and is none of its own.
//
// Source: policy/REFERENCE.md#outcomes-of-an-attempt.
package fallback
