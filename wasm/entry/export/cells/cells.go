//go:build tinygo

// Package cells exports what is done with cells of any mechanism.
package cells

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport cell
func cell(maker uint32, now float64) int32 { return base.M().Cell(maker, now) }

//go:wasmexport acquire
func acquire(cell, cost, caller uint32, now float64) int32 {
	return base.M().Acquire(cell, cost, caller, now)
}

//go:wasmexport step
func step(cell, kind, outcome, cost uint32, now float64) int32 {
	return base.M().Step(cell, kind, outcome, cost, now)
}

//go:wasmexport pass
func pass(cell uint32, now float64) int32 { return base.M().Pass(cell, now) }

//go:wasmexport adopt
func adopt(cell, maker uint32, now float64) int32 { return base.M().Adopt(cell, maker, now) }

//go:wasmexport rank
func rank(cell uint32, now float64) int32 { return base.M().Class(cell, now) }

//go:wasmexport state
func state(cell uint32) int32 { return base.M().State(cell) }

//go:wasmexport restore
func restore(cell, size uint32, by, now float64) int32 { return base.M().Restore(cell, size, by, now) }
