// Package recording records what the calls of policies do, as lines of JSON, with a bounded
// cost: a line is formatted on the goroutine of its call and copied to a buffer of a fixed
// size. A buffer without a writer keeps the latest lines; one with a writer has a
// goroutine that writes them, and counts what does not fit as lost. No call waits for the
// writer.
//
// docs/trace.md describes the lines.
package recording
