//go:build tinygo

// Package retries exports retries.
package retries

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport retry
func retry(size uint32) int32 { return base.M().Retry(size) }

//go:wasmexport next
func next(handle, outcome uint32, after, until, now float64, seedLow, seedHigh uint32) int32 {
	return base.M().Next(handle, outcome, after, until, now, seedLow, seedHigh)
}
