//go:build cgo

package sluicewasmtime_test

import (
	"testing"

	sluicewasmtime "github.com/sluice-go/sluice/bindings/wasmtime"
	"github.com/sluice-go/sluice/wasm/hosttest"
)

// Benchmark measures the module beside the native core.
func Benchmark(b *testing.B) { hosttest.Benchmark(b, open) }

// BenchmarkCompile measures the start.
func BenchmarkCompile(b *testing.B) {
	hosttest.BenchmarkCompile(b, func() error {
		code, err := sluicewasmtime.Compile()
		if err != nil {
			return err
		}
		code.Close()
		return nil
	}, open)
}
