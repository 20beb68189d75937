//go:build tinygo

// Package documents exports the reader of policy documents in JSON.
package documents

import "github.com/sluice-go/sluice/wasm/entry/export/base"

//go:wasmexport plan
func plan(size, nameSize uint32) int32 { return base.M().Plan(size, nameSize) }

//go:wasmexport body
func body(size uint32) int32 { return base.M().Body(size) }

//go:wasmexport describe
func describe(plan, step uint32) int32 { return base.M().Describe(plan, step) }

//go:wasmexport encode
func encode(plan uint32) int32 { return base.M().Encode(plan) }
