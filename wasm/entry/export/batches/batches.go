//go:build tinygo

// Package batches exports many events of a pipeline in one call.
package batches

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport batch
func batch(pipeline, size uint32) int32 { return base.M().Batch(pipeline, size) }
