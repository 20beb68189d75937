//go:build tinygo

// Package bulkheads exports the maker of bulkheads.
package bulkheads

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport bulkhead
func bulkhead(size uint32) int32 { return base.M().Bulkhead(size) }
