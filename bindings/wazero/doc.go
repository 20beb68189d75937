// Package sluicewazero runs policies and limiters inside a sandbox: sluice.wasm,
// the same pure core compiled to a module without imports, in the runtime wazero,
// which is Go alone.
//
//	m, err := sluicewazero.New(ctx)
//	plan, err := m.Policy(document, "vendor") // JSON
//	p, err := m.Pipeline(plan, seed)
//	call, decisions, err := p.Begin(nil, host.Request{Cost: 1, Deadline: -1}, now)
//
// It is for programs that replace the core by another build while they run
// (WithBytes, host.Pipeline.Handover), that bound its memory, or that compare its
// decisions with the decisions of other runtimes. Everything else is faster and easier
// with package sluice itself.
//
// What a Module offers is in package host. A call of the module takes about 60
// ns and does not allocate; the compilation of the embedded module about 0.2 s,
// once for as many instances as are wanted: see Compile.
package sluicewazero
