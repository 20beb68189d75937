//go:build !cgo

package sluicewasmtime_test

import "testing"

// TestModule says why nothing is tested.
func TestModule(t *testing.T) {
	t.Skip("Wasmtime needs cgo and a C compiler (CGO_ENABLED=1; on Debian: apt-get install gcc libc6-dev)")
}
