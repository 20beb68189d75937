//go:build tinygo

// Command limiter is the module of limiters alone, limiter.wasm.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/cells"
	_ "github.com/sluice-go/sluice/wasm/entry/export/limiters"
	_ "github.com/sluice-go/sluice/wasm/entry/export/memories"
)

func main() {}
