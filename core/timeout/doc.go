// Package timeout says until when something may take.
//
//	deadline = start + After        warning = start + Soft
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - L11: intervals are half open: at its deadline the time is over.
//   - G11: a deadline stops at the end of the line, where it means none.
//   - M1: what it bounds is bounded by every timeout above as well; the pipeline
//     takes the earliest.
//
// Source: policy/REFERENCE.md#timeouts.
package timeout
