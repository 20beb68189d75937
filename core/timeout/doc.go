// Package timeout computes deadlines.
//
//	deadline = start + After        warning = start + Soft
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L11: intervals are half open: at its deadline the time is over.
//   - G11: a deadline saturates at the end of the line of marks, where it means none.
//   - M1: every timeout above bounds the same work; the pipeline takes the earliest
//     deadline.
//
// Source: policy/REFERENCE.md#timeouts.
package timeout
