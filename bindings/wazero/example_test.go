package sluicewazero_test

import (
	"context"
	"fmt"
	"time"

	sluicewazero "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/host"
)

func Example() {
	// cache is sluicewazero.WithCache(wazero.NewCompilationCache()). A program with
	// one module needs no cache.
	m, err := sluicewazero.New(context.Background(), cache)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	plan, err := m.Policy([]byte(`{"version": 1, "policies": {"vendor": {"steps": [{"retry": 3}, {"limit": "1/1s"}]}}}`), "vendor")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Pipeline(plan, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := clock.Mark(0) // of a monotonic clock, as a rule
	for range 2 {
		call, decisions, err := p.Begin(nil, host.Request{Cost: 1, Deadline: -1}, now)
		if err == nil && decisions[len(decisions)-1].Kind == decision.Admit {
			decisions, err = p.Done(decisions, call, host.Result{Outcome: reducer.OK}, now)
		}
		for _, d := range decisions {
			fmt.Println(d.Kind, d.Step, d.Reason, d.RetryAfter)
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// admit   0s
	// end   0s
	// reject limit rate 1s
}

// A limiter alone is the fast way.
func ExampleNew_limiter() {
	m, err := sluicewazero.New(context.Background(), cache, sluicewazero.WithMemoryLimit(4<<20))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	maker, err := m.Limiter(limiter.Config{Count: 50, Period: time.Minute, Burst: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	cell, err := maker.Cell(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		fmt.Println(cell.Allow(1, 0))
	}
	// Output:
	// true <nil>
	// true <nil>
	// false <nil>
}

// A pipeline of another build of the module gets the states of the old one.
func ExampleWithBytes_hotSwap() {
	start := func(module []byte) (*host.Pipeline, error) {
		m, err := sluicewazero.New(context.Background(), cache, sluicewazero.WithBytes(module))
		if err != nil {
			return nil, err // of another version of the ABI, for example
		}
		plan, err := m.Body([]byte(`{"steps": [{"limit": {"rate": "1/1h", "per": "key"}}]}`))
		if err != nil {
			return nil, err
		}
		return m.Pipeline(plan, 0)
	}
	request := host.Request{Cost: 1, Deadline: -1, Lookup: func(string) string { return "tenant-a" }}
	old, err := start(wasm.Module())
	if err != nil {
		fmt.Println(err)
		return
	}
	_, decisions, err := old.Begin(nil, request, 0)
	fmt.Println(decisions[0].Kind, err)
	young, err := start(wasm.Module())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(old.Handover(young, 1))
	_, decisions, err = young.Begin(nil, request, 1)
	fmt.Println(decisions[0].Kind, err)
	// Output:
	// admit <nil>
	// 1 <nil>
	// reject <nil>
}
