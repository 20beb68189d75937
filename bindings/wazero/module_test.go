package sluicewazero_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	sluicewazero "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/host"
	"github.com/sluice-go/sluice/wasm/hosttest"
)

// compilations has the embedded module, compiled once for all tests.
var (
	compilations = wazero.NewCompilationCache()
	cache        = sluicewazero.WithCache(compilations)
)

var compiled = sync.OnceValues(func() (*sluicewazero.Code, error) {
	return sluicewazero.Compile(context.Background(), cache)
})

func open() (*host.Module, error) {
	code, err := compiled()
	if err != nil {
		return nil, err
	}
	return code.New(context.Background())
}

// TestModule runs the tests of all runtimes.
func TestModule(t *testing.T) {
	hosttest.Suite{Open: open, Cases: 1000, Steps: 1_000_000}.Run(t)
}

// TestAllocations checks that a limiter allocates nothing, and that calls of a
// policy do not either where the decisions have room.
func TestAllocations(t *testing.T) {
	hosttest.NoAllocations(t, open)
}

// TestBytes checks what modules are taken.
func TestBytes(t *testing.T) {
	ctx := context.Background()
	m, err := sluicewazero.New(ctx, cache, sluicewazero.WithBytes(wasm.Module()))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	for name, b := range hosttest.Misfits() {
		if m, err := sluicewazero.New(ctx, sluicewazero.WithBytes(b)); err == nil || m != nil {
			t.Errorf("%s: got %v, %v", name, m, err)
		}
	}
	other := sluicewazero.WithBytes(hosttest.Misfits()["another version"])
	if _, err := sluicewazero.New(ctx, other); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d, not %d", abi.Version+1, abi.Version)) {
		t.Errorf("got %v", err)
	}
}

// TestMemoryLimit checks that memory that cannot grow is an error of what is made.
func TestMemoryLimit(t *testing.T) {
	code, err := sluicewazero.Compile(context.Background(), cache, sluicewazero.WithMemoryLimit(4<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	hosttest.Exhaust(t, func() (*host.Module, error) { return code.New(context.Background()) })
}

// TestCodeClosed checks that the instances end with their code.
func TestCodeClosed(t *testing.T) {
	code, err := sluicewazero.Compile(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	m, err := code.New(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := code.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Limiter(limiter.Config{Count: 1, Period: time.Second}); !errors.Is(err, host.ErrBroken) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(m.Close(), code.Close()); err != nil {
		t.Error(err)
	}
	if m, err := code.New(context.Background()); err == nil {
		t.Errorf("got %v", m)
	}
}
