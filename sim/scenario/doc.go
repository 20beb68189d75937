// Package scenario has the document of the simulator: clients that call services,
// through policies, for a time. It reads a document's tree and reports all errors at
// once, with the reader of package policy/document; it simulates nothing.
//
// It imports no YAML library, so that a wasm module can read scenarios in JSON; see
// package sim for both.
//
// Source: sim/REFERENCE.md.
package scenario
