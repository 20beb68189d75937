//go:build tinygo

// Package simulations exports the simulator.
package simulations

import (
	"github.com/sluice-go/sluice/wasm/abi/simulation"
	"github.com/sluice-go/sluice/wasm/entry/export/base"
	"github.com/sluice-go/sluice/wasm/heap"
)

var simulator = simulation.Simulator{Full: heap.Due, Exceeded: heap.Exceeded}

func s() *simulation.Simulator {
	simulator.Module = base.M()
	return &simulator
}

//go:wasmexport simulate
func simulate(size, nameSize, flags, seedLow, seedHigh, parts, samples uint32) int32 {
	return s().Simulate(size, nameSize, flags, seedLow, seedHigh, parts, samples)
}

//go:wasmexport run
func run(events uint32) int32 { return s().Run(events) }

//go:wasmexport take
func take(kind uint32) int32 { return s().Take(kind) }

//go:wasmexport result
func result() int32 { return s().Result() }

//go:wasmexport lanes
func lanes() int32 { return s().Lanes() }
