//go:build tinygo

// Package limiters exports the maker of limiters.
package limiters

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport limiter
func limiter() int32 { return base.M().Limiter() }
