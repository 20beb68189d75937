//go:build !race

package sluicewazero_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/wasm"
)

// TestNothingTraps calls the exports with any arguments, slots and bytes, past
// package host: ABI.md promises that nothing traps on what a host passes.
func TestNothingTraps(t *testing.T) {
	const instances, calls = 50, 400
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compilations))
	defer runtime.Close(ctx)
	compiled, err := runtime.CompileModule(ctx, wasm.Module())
	if err != nil {
		t.Fatal(err)
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	for i := range uint64(instances) {
		module, err := runtime.InstantiateModule(ctx, compiled, config)
		if err != nil {
			t.Fatal(err)
		}
		w := newWild(t, rand.New(rand.NewPCG(seed, i)), module)
		for range calls {
			w.step()
		}
		module.Close(ctx)
	}
}

// wild is an instance that gets random calls.
type wild struct {
	*rand.Rand
	t       *testing.T
	module  api.Module
	names   []string
	handles []uint64
	slots   uint32
}

// makes are the exports that return handles.
var makes = []string{"limiter", "bulkhead", "breaker", "retry", "cell", "plan", "body", "maker", "pipeline"}

var policies = []byte(`{"steps":[{"retry":3},{"limit":{"rate":"1/1s","wait":"5s","per":"key"}},{"breaker":{}},{"bulkhead":{"concurrent":2,"queue":3,"lease":"1s"}}]}`)

func newWild(t *testing.T, r *rand.Rand, module api.Module) *wild {
	t.Helper()
	w := &wild{Rand: r, t: t, module: module}
	for name := range module.ExportedFunctionDefinitions() {
		if name != "_initialize" {
			w.names = append(w.names, name)
		}
	}
	slices.Sort(w.names)
	w.slots = uint32(w.call("slots"))
	w.call("buffer", 4096)
	w.fill(policies)
	w.call("pipeline", w.call("body", uint64(len(policies))), 1, 0)
	return w
}

func (w *wild) call(name string, args ...uint64) uint64 {
	w.t.Helper()
	results, err := w.module.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		w.t.Fatalf("%s %x: %v", name, args, err)
	}
	if len(results) == 0 {
		return 0
	}
	if slices.Contains(makes, name) && int32(results[0]) > 0 {
		w.handles = append(w.handles, results[0])
	}
	return results[0]
}

// fill writes to the start of the buffer.
func (w *wild) fill(src []byte) {
	buffer, _ := w.module.Memory().ReadUint32Le(w.slots + 16)
	w.module.Memory().Write(buffer, src)
}

// word draws a u32: a handle, a small one, or one at an end.
func (w *wild) word() uint64 {
	switch w.IntN(8) {
	case 0:
		return uint64(w.Uint32())
	case 1:
		return uint64(1<<31 - 1 + w.IntN(3))
	case 2:
		return uint64(math.MaxUint32 - w.IntN(3))
	case 3, 4:
		return w.handles[w.IntN(len(w.handles))]
	}
	return uint64(w.IntN(8))
}

func (w *wild) float() uint64 {
	ends := [...]float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 9.3e12, 1e5 * w.Float64()}
	return math.Float64bits(ends[w.IntN(len(ends))])
}

// step calls any export, after any change of what it reads.
func (w *wild) step() {
	w.t.Helper()
	memory := w.module.Memory()
	switch w.IntN(5) {
	case 0: // the slots
		for _, at := range []uint32{0, 24, 28, 32, 36, 80, 84, 88, 92, 96, 100, 108, 112, 116} {
			if w.IntN(2) == 0 {
				memory.WriteUint32Le(w.slots+at, uint32(w.word()))
			}
		}
	case 1: // keys, costs, what was used, and which steps a call passes
		for i := range uint32(16) {
			memory.WriteUint32Le(w.slots+120+4*i, uint32(w.IntN(4)))
			memory.WriteUint32Le(w.slots+200+4*i, uint32(w.word()))
		}
		for _, at := range []uint32{188, 264, 268, 272, 276} {
			memory.WriteUint32Le(w.slots+at, uint32(w.word()))
		}
	case 2: // bytes
		src := make([]byte, 200)
		for i := range src {
			src[i] = byte(w.IntN(256) * w.IntN(2))
		}
		w.fill(src)
	case 3: // events
		var src []byte
		for range 5 {
			src = append(src, byte(w.IntN(6)), byte(w.IntN(5)), byte(w.IntN(4)), 0)
			for range 3 {
				src = binary.LittleEndian.AppendUint32(src, uint32(w.word()))
			}
			src = binary.LittleEndian.AppendUint64(src, w.word()<<w.IntN(33))
			src = append(binary.LittleEndian.AppendUint64(src, w.word()<<w.IntN(33)), 0, 0, 0, 0, 0, 0, 0, 0)
		}
		w.fill(src)
	}
	name := w.names[w.IntN(len(w.names))]
	if name == "free" && w.IntN(10) > 0 {
		return // or nothing else is left
	}
	var args []uint64
	for i, param := range w.module.ExportedFunction(name).Definition().ParamTypes() {
		switch {
		case param == api.ValueTypeF64:
			args = append(args, w.float())
		case i == 0 && w.IntN(4) > 0:
			args = append(args, w.handles[w.IntN(len(w.handles))])
		default:
			args = append(args, w.word())
		}
	}
	switch {
	case name == "body":
		w.fill(policies)
		args[0] = uint64(len(policies))
	case name == "batch" && w.IntN(4) > 0:
		args[1] = 200
	}
	w.call(name, args...)
}
