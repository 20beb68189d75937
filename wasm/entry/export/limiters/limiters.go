//go:build tinygo

// Package limiters exports the maker of limiters.
package limiters

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport limiter
func limiter(size uint32) int32 { return base.M().Limiter(size) }
