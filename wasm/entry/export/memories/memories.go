//go:build tinygo

// Package memories exports the limit of memory, and makes the module keep it.
package memories

import (
	"github.com/sluice-go/sluice/wasm/entry/export/base"
	"github.com/sluice-go/sluice/wasm/heap"
)

func init() {
	memory := &base.M().Memory
	memory.Room, memory.Freed = heap.Room, heap.Freed
}

//go:wasmexport used
func used() int32 { return int32(heap.Used() + base.M().Memory.Owed()) }

//go:wasmexport limit
func limit(size uint32) int32 {
	if size != 0 && !heap.SetLimit(size) {
		return base.M().BadLimit()
	}
	return int32(heap.Limit())
}
