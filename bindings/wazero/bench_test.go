package sluicewazero_test

import (
	"context"
	"testing"

	sluicewazero "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/wasm/hosttest"
)

// Benchmark measures the module beside the native core.
func Benchmark(b *testing.B) { hosttest.Benchmark(b, open) }

// BenchmarkCompile measures the start.
func BenchmarkCompile(b *testing.B) {
	hosttest.BenchmarkCompile(b, func() error {
		code, err := sluicewazero.Compile(context.Background())
		if err != nil {
			return err
		}
		return code.Close()
	}, open)
}
