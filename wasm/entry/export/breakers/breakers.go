//go:build tinygo

// Package breakers exports the maker of breakers.
package breakers

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport breaker
func breaker(size uint32) int32 { return base.M().Breaker(size) }
