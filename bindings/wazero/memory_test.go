//go:build !race

package sluicewazero_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/abi"
)

// TestMemoryIsUsed makes cells until memory refuses them: what is refused finds memory in
// use, whatever the size of their windows, and the windows have the room that was counted.
func TestMemoryIsUsed(t *testing.T) {
	for window, c := range map[string]struct {
		limit uint64
		least int
	}{
		`{"time":"1m","buckets":60}`:   {256 << 20, 100_000},
		`{"time":"1m","buckets":110}`:  {32 << 20, 7_500},
		`{"time":"1m","buckets":160}`:  {32 << 20, 6_000},
		`{"time":"1m","buckets":250}`:  {32 << 20, 5_000},
		`{"time":"1m","buckets":500}`:  {32 << 20, 2_500},
		`{"time":"1m","buckets":1000}`: {32 << 20, 1_200},
		`{"calls":10000}`:              {32 << 20, 6_000},
	} {
		t.Run(window, func(t *testing.T) {
			ctx := context.Background()
			runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compilations))
			defer runtime.Close(ctx)
			module, err := runtime.InstantiateWithConfig(ctx, wasm.Module(), wazero.NewModuleConfig().WithStartFunctions("_initialize"))
			if err != nil {
				t.Fatal(err)
			}
			w := &wild{t: t, module: module}
			w.slots = uint32(w.call("slots"))
			body := []byte(fmt.Sprintf(`{"steps":[{"breaker":{"window":%s}}]}`, window))
			w.call("limit", c.limit)
			w.call("buffer", 4096)
			w.fill(body)
			plan := w.call("body", uint64(len(body)))
			maker := w.call("maker", plan, 0)
			var cells []uint64
			for {
				cell := w.call("cell", maker, math.Float64bits(0))
				if int32(cell) < 0 {
					if code := int32(cell); code != abi.NoMemory {
						t.Fatalf("error %d", code)
					}
					break
				}
				cells = append(cells, cell)
			}
			used, limit := w.call("used"), w.call("limit", 0)
			t.Logf("%d breakers in %d of %d MiB", len(cells), used>>20, limit>>20)
			if len(cells) < c.least {
				t.Errorf("%d breakers fit, want %d", len(cells), c.least)
			}
			if float64(used) < 0.7*float64(limit) || used > limit {
				t.Errorf("%d of %d bytes are in use when more is refused", used, limit)
			}
			for _, cell := range cells {
				w.call("acquire", cell, 1, 0, math.Float64bits(1))
				w.call("step", cell, uint64(reducer.Record), uint64(reducer.OK), 0, math.Float64bits(2))
			}
			if used := w.call("used"); used > limit {
				t.Errorf("%d of %d bytes are in use with all windows", used, limit)
			}
			// What is freed makes room.
			for _, cell := range cells[:len(cells)/2] {
				w.call("free", cell)
			}
			if code := int32(w.call("cell", maker, math.Float64bits(3))); code < 0 {
				t.Errorf("error %d after half of the breakers were freed", code)
			}
		})
	}
}
