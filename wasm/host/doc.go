// Package host calls sluice.wasm: policies and cells that are decided inside
// a sandbox, in the types of the native core. It implements the ABI (wasm/ABI.md) for
// any runtime; bindings/wazero and bindings/wasmtime have one each.
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
// An instance of a module has no threads. All methods may be called from several goroutines,
// but the methods of one Module and its objects run one at a time; for more parallel calls,
// make more modules.
//
// A wrong argument gives an *Error, as does what memory has no room for, and the
// module still works. When an instance traps or breaks the ABI, the call and all later
// ones return ErrBroken: make another module. No action of a host or
// a module makes a method panic.
//
// Policies that share mechanisms have pipelines in one module: Pipeline.Join makes the second
// beside the first.
//
// Another build of the module can replace this one while a program runs, see
// Pipeline.Handover.
package host
