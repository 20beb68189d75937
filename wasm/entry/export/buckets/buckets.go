//go:build tinygo

// Package buckets exports what the module of token buckets has: the part of ABI.md
// that is about limiters, without queues.
package buckets

import (
	"unsafe"

	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/heap/bump"
)

var m = abi.Buckets{Room: bump.Room}

// called is called once at the beginning of each export, when nothing else holds a
// pointer.
func called() *abi.Buckets {
	bump.Safe()
	return &m
}

//go:wasmexport abi
func version() uint32 { return abi.Version }

//go:wasmexport slots
func slots() unsafe.Pointer { return unsafe.Pointer(&m.Slots) }

//go:wasmexport buffer
func buffer(size uint32) int32 { return called().Reserve(size) }

//go:wasmexport free
func free(handle uint32) int32 { return called().Free(handle) }

//go:wasmexport limiter
func limiter(size uint32) int32 { return called().Limiter(size) }

//go:wasmexport cell
func cell(maker uint32, now float64) int32 { return called().Cell(maker, now) }

//go:wasmexport acquire
func acquire(cell, cost, caller uint32, now float64) int32 {
	return called().Acquire(cell, cost, caller, now)
}

//go:wasmexport step
func step(cell, kind, outcome, cost uint32, now float64) int32 {
	return called().Step(cell, kind, outcome, cost, now)
}

//go:wasmexport adopt
func adopt(cell, maker uint32, now float64) int32 { return called().Adopt(cell, maker, now) }

//go:wasmexport rank
func rank(cell uint32, now float64) int32 { return called().Class(cell, now) }

//go:wasmexport state
func state(cell uint32) int32 { return called().State(cell) }

//go:wasmexport restore
func restore(cell, size uint32, by, now float64) int32 { return called().Restore(cell, size, by, now) }
