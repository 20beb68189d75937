//go:build cgo

package sluicewasmtime_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	sluicewasmtime "github.com/sluice-go/sluice/bindings/wasmtime"
	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/host"
	"github.com/sluice-go/sluice/wasm/hosttest"
)

// compiled is the embedded module, compiled once for all tests.
var compiled = sync.OnceValues(func() (*sluicewasmtime.Code, error) { return sluicewasmtime.Compile() })

func open() (*host.Module, error) {
	code, err := compiled()
	if err != nil {
		return nil, err
	}
	return code.New()
}

// TestModule runs the tests of all runtimes.
func TestModule(t *testing.T) {
	hosttest.Suite{Open: open, Cases: 400, Steps: 200_000}.Run(t)
}

// TestBytes checks what modules are taken.
func TestBytes(t *testing.T) {
	m, err := sluicewasmtime.New(sluicewasmtime.WithBytes(wasm.Module()))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for name, b := range hosttest.Misfits() {
		if m, err := sluicewasmtime.New(sluicewasmtime.WithBytes(b)); err == nil || m != nil {
			t.Errorf("%s: got %v, %v", name, m, err)
		}
	}
	other := sluicewasmtime.WithBytes(hosttest.Misfits()["another version"])
	if _, err := sluicewasmtime.New(other); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d, not %d", abi.Version+1, abi.Version)) {
		t.Errorf("got %v", err)
	}
}

// TestMemoryLimit checks that memory that cannot grow is an error of what is made.
func TestMemoryLimit(t *testing.T) {
	code, err := sluicewasmtime.Compile(sluicewasmtime.WithMemoryLimit(4 << 20))
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Exhaust(t, code.New)
	code.Close()
}
