//go:build tinygo

// Package pipelines exports plans, compiled from plan bytes, and their pipelines.
package pipelines

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport compile
func compile(size uint32) int32 { return base.M().Compile(size) }

//go:wasmexport maker
func maker(plan, step uint32) int32 { return base.M().MakerOf(plan, step) }

//go:wasmexport pipeline
func pipeline(plan, seedLow, seedHigh uint32) int32 {
	return base.M().Pipeline(plan, seedLow, seedHigh)
}

//go:wasmexport join
func join(pipeline, plan, seedLow, seedHigh uint32) int32 {
	return base.M().Join(pipeline, plan, seedLow, seedHigh)
}

//go:wasmexport begin
func begin(pipeline, cost, flags uint32, deadline, now float64) int32 {
	return base.M().Begin(pipeline, cost, flags, deadline, now)
}

//go:wasmexport done
func done(pipeline, slot, generation, attempt, outcome uint32, after, now float64) int32 {
	return base.M().Done(pipeline, slot, generation, attempt, outcome, after, now)
}

//go:wasmexport cancel
func cancel(pipeline, slot, generation uint32, now float64) int32 {
	return base.M().Cancel(pipeline, slot, generation, now)
}

//go:wasmexport renew
func renew(pipeline, slot, generation, attempt uint32, now float64) int32 {
	return base.M().Renew(pipeline, slot, generation, attempt, now)
}

//go:wasmexport advance
func advance(pipeline uint32, now float64) int32 { return base.M().Advance(pipeline, now) }

//go:wasmexport configure
func configure(pipeline, plan uint32, now float64) int32 {
	return base.M().Configure(pipeline, plan, now)
}

//go:wasmexport uses
func uses(pipeline, key uint32) int32 { return base.M().Uses(pipeline, key) }

//go:wasmexport observe
func observe(pipeline, on uint32) int32 { return base.M().Observe(pipeline, on) }

//go:wasmexport ask
func ask(pipeline, step, key, kind, cost uint32, now float64) int32 {
	return base.M().Ask(pipeline, step, key, kind, cost, now)
}

//go:wasmexport evict
func evict(pipeline, step, key uint32) int32 { return base.M().Evict(pipeline, step, key) }

//go:wasmexport block
func block(pipeline, step, key uint32, span, now float64) int32 {
	return base.M().Block(pipeline, step, key, span, now)
}

//go:wasmexport save
func save(pipeline, step, key uint32) int32 { return base.M().Save(pipeline, step, key) }

//go:wasmexport load
func load(pipeline, step, key, size uint32, by, now float64) int32 {
	return base.M().Load(pipeline, step, key, size, by, now)
}
