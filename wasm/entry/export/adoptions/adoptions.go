//go:build tinygo

// Package adoptions exports the reconfiguration of a cell.
package adoptions

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport adopt
func adopt(cell, maker uint32, now float64) int32 { return base.M().Adopt(cell, maker, now) }
