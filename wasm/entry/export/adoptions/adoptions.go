//go:build tinygo

// Package adoptions exports what a host needs that keeps cells across configurations
// and frees them: the npm package does neither.
package adoptions

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport adopt
func adopt(cell, maker uint32, now float64) int32 { return base.M().Adopt(cell, maker, now) }

//go:wasmexport fresh
func fresh(cell uint32, now float64) int32 { return base.M().Fresh(cell, now) }
