package sluicewazero

import (
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sluice-go/sluice/vectors"
)

// TestVectors replays the conformance vectors in wazero, and with a bit that
// flips.
func TestVectors(t *testing.T) {
	code, err := Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	open := func() vectors.Instance {
		module, err := code.runtime.InstantiateModule(t.Context(), code.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			t.Fatal(err)
		}
		i, err := vectors.Wasm(&engine{module: module, memory: module.ExportedMemory("memory")})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	vectors.Test(t, open)
}
