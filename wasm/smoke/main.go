//go:build tinygo

// Command smoke is the core built by TinyGo as a module without imports: a
// proof that it builds and links, no product. core_gen.go, written by gen
// before each build, keeps every exported function and method of the core, so
// that nothing is dropped as dead code and a missing symbol fails the link.
package main

import (
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
)

// address tells where function number n of the core is, and 0 beyond the last.
// A host can see it, so no optimizer may drop the function.
//
//go:wasmexport address
func address(n uint32) uint32 { return choose(n) }

// words mixes the two words of a function value in TinyGo, context and place.
func words(function unsafe.Pointer) uint32 {
	value := (*[2]uint32)(function)
	return value[0] ^ value[1]
}

// add is one small step to call from a host: time as milliseconds in a float.
//
//go:wasmexport add
func add(mark, millis float64) float64 {
	const perMilli = 1_000_000
	sum := clock.Mark(int64(mark) * perMilli).Add(time.Duration(int64(millis) * perMilli))
	return float64(int64(sum) / perMilli)
}

func main() {}
