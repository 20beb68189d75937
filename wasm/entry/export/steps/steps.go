//go:build tinygo

// Package steps exports pure steps of cells.
package steps

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport reduce
func reduce(maker, size uint32) int32 { return base.M().Reduce(maker, size) }
