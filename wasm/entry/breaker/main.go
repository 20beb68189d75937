//go:build tinygo

// Command breaker is the module of breakers alone, breaker.wasm.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/breakers"
	_ "github.com/sluice-go/sluice/wasm/entry/export/cells"
	_ "github.com/sluice-go/sluice/wasm/entry/export/memories"
)

func main() {}
