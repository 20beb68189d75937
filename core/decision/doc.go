// Package decision holds the words of the decision log: what a driver of a
// pipeline decided, for eval, for events of the runner, for the wasm module and
// for the reader of a log. It is for those who read decisions; it decides nothing.
//
// Source: eval/REFERENCE.md.
package decision
