//go:build !race

package sluicewazero

import (
	"os"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sluice-go/sluice/vectors"
	"github.com/sluice-go/sluice/wasm"
)

// TestVectors replays the conformance vectors in wazero on every module that has
// pipelines, and with a bit that flips.
func TestVectors(t *testing.T) {
	read := func(name string) []byte {
		module, err := os.ReadFile("../../wasm/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return module
	}
	for _, c := range []struct {
		name   string
		module []byte
		before func(vectors.Instance) vectors.Instance
	}{
		{"sluice", wasm.Module(), func(i vectors.Instance) vectors.Instance { return i }},
		{"core", read("core.wasm"), vectors.WithReader},
		{"core-fast", read("core-fast.wasm"), vectors.WithReader},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, err := Compile(t.Context(), WithBytes(c.module))
			if err != nil {
				t.Fatal(err)
			}
			defer code.Close()
			vectors.Test(t, func() vectors.Instance {
				module, err := code.runtime.InstantiateModule(t.Context(), code.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
				if err != nil {
					t.Fatal(err)
				}
				i, err := vectors.Wasm(&engine{module: module, memory: module.ExportedMemory("memory")})
				if err != nil {
					t.Fatal(err)
				}
				return c.before(i)
			})
		})
	}
}
