// Package wasm carries sluice.wasm, the pure core as a module without imports,
// in the program. ABI.md says what its exports mean; package host speaks to it in
// Go, over a runtime that a binding brings.
package wasm

import _ "embed" // for sluice.wasm

//go:embed sluice.wasm
var module string

// Module returns the bytes of sluice.wasm. They are the caller's own.
func Module() []byte { return []byte(module) }
