package sluicewazero

import (
	"encoding/binary"
	"os"
	"testing"
	"unsafe"

	"github.com/tetratelabs/wazero"

	"github.com/sluice-go/sluice/vectors"
	"github.com/sluice-go/sluice/wasm/abi"
)

// TestCodes: a module without texts answers errors with a code, the index of the step
// and the name of the field.
func TestCodes(t *testing.T) {
	module, err := os.ReadFile("../../wasm/core.wasm")
	if err != nil {
		t.Fatal(err)
	}
	code, err := Compile(t.Context(), WithBytes(module))
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	instance, err := code.runtime.InstantiateModule(t.Context(), code.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	i, err := vectors.Wasm(&engine{module: instance, memory: instance.ExportedMemory("memory")})
	if err != nil {
		t.Fatal(err)
	}
	call := func(export string, parameters ...uint64) int32 {
		code, err := i.Call(export, parameters...)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	const limit, timeout = "\x04\x00\x01a\x00\x00\x00\x01\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\x01\x00\x01b\x00\x00\x09\x01"
	for _, c := range []struct {
		plan  string
		code  int32
		step  int32
		field string
	}{
		{"\x01\x00\x02" + timeout + limit, 0, 0, ""},
		{"\x02\x00\x01" + limit, abi.BadBytes, -1, ""},
		{"\x01\x00\x02" + timeout + limit[:8], abi.BadBytes, 1, ""},
		{"\x01\x00\x02" + timeout + limit + "x", abi.BadBytes, 1, ""},
		{"\x01\x00\x02" + timeout + timeout, abi.BadPolicy, 1, "name"},
		{"\x01\x00\x02" + timeout + limit[:7] + "\x00" + limit[8:], abi.BadPolicy, 1, "rate.count"},
	} {
		call("buffer", uint64(len(c.plan)))
		copy(i.Buffer(uint32(len(c.plan))), c.plan)
		code := call("compile", uint64(len(c.plan)))
		slots := i.Slots()
		step := int32(binary.LittleEndian.Uint32(slots[unsafe.Offsetof(abi.Slots{}.Step):]))
		field := string(i.Buffer(binary.LittleEndian.Uint32(slots[unsafe.Offsetof(abi.Slots{}.Size):])))
		if c.code == 0 {
			if code <= 0 {
				t.Errorf("%q: %d", c.plan, code)
			}
			continue
		}
		if code != c.code || step != c.step || field != c.field {
			t.Errorf("%q: code %d, step %d, field %q, want %d, %d, %q", c.plan, code, step, field, c.code, c.step, c.field)
		}
	}
	if code := call("acquire", 7, 1, 0, 0); code != abi.BadHandle {
		t.Errorf("a wrong handle: %d", code)
	}
	if size := binary.LittleEndian.Uint32(i.Slots()[unsafe.Offsetof(abi.Slots{}.Size):]); size != 0 {
		t.Errorf("a wrong handle leaves %q", i.Buffer(size))
	}
}
