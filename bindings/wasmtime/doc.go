// Package sluicewasmtime runs policies and limiters inside a sandbox:
// sluice.wasm, the same pure core compiled to a module without imports, in the
// runtime Wasmtime. It needs cgo and a C compiler, and has nothing without them;
// bindings/wazero needs neither and is faster for single calls.
//
//	m, err := sluicewasmtime.New()
//	plan, err := m.Policy(document, "vendor") // JSON
//	p, err := m.Pipeline(plan, seed)
//	decisions, err := p.Batch(decisions[:0], events)
//
// What a Module offers is in package host, the same as with every runtime. A
// call of the module takes some 2 µs and 10 allocations here, which a Batch of
// many events has once.
package sluicewasmtime
