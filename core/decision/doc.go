// Package decision has the types of the decision log: the decisions of a driver of a
// pipeline, for eval, for events of the runner, for the wasm module and for readers
// of a log. It decides nothing.
//
// Source: eval/REFERENCE.md.
package decision
