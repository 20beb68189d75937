//go:build tinygo

// Package adoptions exports what a host needs that frees cells which decide as new ones
// would: the npm package does not.
package adoptions

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport fresh
func fresh(cell uint32, now float64) int32 { return base.M().Fresh(cell, now) }
