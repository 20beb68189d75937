//go:build tinygo

// Package base exports what every module has. ABI.md describes its exports, and the exports of
// the packages beside it.
package base

import (
	"unsafe"

	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/heap"
)

var m abi.Module

// M returns the module. It is called once at the beginning of each export, when
// nothing else holds a pointer, so that memory may be collected.
func M() *abi.Module {
	heap.Safe()
	m.Memory.Tight = heap.Tight()
	return &m
}

//go:wasmexport abi
func version() uint32 { return abi.Version }

//go:wasmexport slots
func slots() unsafe.Pointer { return unsafe.Pointer(&m.Slots) }

//go:wasmexport buffer
func buffer(size uint32) int32 { return M().Reserve(size) }

//go:wasmexport free
func free(handle uint32) int32 { return M().Free(handle) }
