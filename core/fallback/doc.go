// Package fallback replaces a refusal or a failure by a fixed answer.
//
// It replaces the outcomes fail, throttle and timeout and a refusal of the policy. It
// does not replace a success, an error of the caller, or a cancelled call.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - G12: it marks the one end of the call, and is not a further end.
//
// Source: policy/REFERENCE.md#outcomes-of-an-attempt.
package fallback
