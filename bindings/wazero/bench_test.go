package sluicewazero_test

import (
	"context"
	"testing"

	sluicewazero "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/internal/hosttest"
)

// Benchmark measures the module beside the native core.
func Benchmark(b *testing.B) { hosttest.Benchmark(b, open) }

// BenchmarkCompile measures the start: the compilation, and an instance of what
// is compiled.
func BenchmarkCompile(b *testing.B) {
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			code, err := sluicewazero.Compile(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			code.Close()
		}
	})
	b.Run("instance", func(b *testing.B) {
		for b.Loop() {
			m, err := open()
			if err != nil {
				b.Fatal(err)
			}
			m.Close()
		}
	})
}
