//go:build cgo && !race

package sluicewasmtime

import (
	"testing"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/sluice-go/sluice/vectors"
)

// TestVectors replays the conformance vectors in wasmtime, and with a bit that
// flips.
func TestVectors(t *testing.T) {
	code, err := Compile()
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	open := func() vectors.Instance {
		store := wasmtime.NewStore(code.engine)
		instance, err := wasmtime.NewInstance(store, code.module, nil)
		if err != nil {
			t.Fatal(err)
		}
		i, err := vectors.Wasm(&engine{store: store, instance: instance, memory: instance.GetExport(store, "memory").Memory()})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	vectors.Test(t, open)
}
