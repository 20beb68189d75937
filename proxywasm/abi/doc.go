// Package abi is the guest's side of the Proxy-Wasm ABI 0.2.1: what a filter written in
// Go calls in its proxy. It has the functions of the host as Go functions, and the
// memory into which the host writes. A filter exports the callbacks that it needs
// itself, by go:wasmexport, and calls Enter at the beginning of each of them.
//
// The package builds with TinyGo and, for GOOS=wasip1, with Go's -buildmode=c-shared.
// It imports only the functions of the host that the filter uses. Elsewhere it
// compiles as well, and every call answers Unimplemented.
//
// # Memory
//
// What the host returns lies in an arena of ArenaSize bytes, which Enter empties.
// Slices that functions of this package return are valid until the filter's next
// Enter or Reclaim. A value for which the arena has no room is not returned, with the
// status InvalidMemory.
//
// Source: https://github.com/proxy-wasm/spec, abi-versions/v0.2.1, and the host
// proxy-wasm-cpp-host, which Envoy has.
package abi
