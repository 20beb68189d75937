// Package trace reads traces: what sluice.Set.Trace, sluice.Pipeline.Trace and
// `sluice serve --trace` record of the calls of policies.
//
// A trace is lines of JSON. A header line describes a policy; each line after it is an
// event as `sluice eval` reads it, or a decision as `sluice eval` prints it; the last
// line counts what was recorded and what was lost. docs/trace.md describes the format.
package trace
