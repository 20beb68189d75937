//go:build tinygo

// Command sim is the simulator, sim.wasm.
package main

import (
	_ "github.com/sluice-go/sluice/wasm/entry/export/base"
	_ "github.com/sluice-go/sluice/wasm/entry/export/memories"
	_ "github.com/sluice-go/sluice/wasm/entry/export/simulations"
)

func main() {}
