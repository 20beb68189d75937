// Package host speaks to sluice.wasm: policies and cells that are decided inside
// a sandbox, in the types of the native core. It knows the ABI (wasm/ABI.md) and
// no runtime; bindings/wazero and bindings/wasmtime bring one.
//
//	m, err := sluicewazero.New(ctx)
//	plan, err := m.Policy(document, "vendor") // JSON
//	p, err := m.Pipeline(plan, seed)
//	call, decisions, err := p.Begin(decisions[:0], host.Request{Cost: 1, Deadline: -1}, now)
//
// Given the same policy, seed and events, a Pipeline decides as core/drive does,
// to the nanosecond: time goes in and comes out in whole nanoseconds, never in
// floats. A Cell answers as its machine in core/ does.
//
// An instance of a module has no threads. All methods may be called from several
// goroutines, and those of one Module and its objects take turns; for more at
// once, make more modules.
//
// A wrong argument gives an *Error, and the module still works. When an
// instance traps, which memory that cannot grow brings about, or breaks the ABI,
// the call returns ErrBroken and so do all later ones: make another. Nothing a
// host or a module does makes a method panic.
//
// Another build of the module can take over while a program runs, see
// Pipeline.Handover.
package host
