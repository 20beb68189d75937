//go:build cgo

package sluicewasmtime_test

import (
	"fmt"

	sluicewasmtime "github.com/sluice-go/sluice/bindings/wasmtime"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/host"
)

// Many events go into the module at once.
func Example() {
	m, err := sluicewasmtime.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	plan, err := m.Body([]byte(`{"steps": [{"bulkhead": {"concurrent": 1, "queue": 1}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Pipeline(plan, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	begin := host.Request{Cost: 1, Deadline: -1}
	events := []host.Event{
		{Op: host.Begin, At: 0, Request: begin},
		{Op: host.Begin, At: 1, Request: begin},
		{Op: host.Done, At: 2, Of: 1, Result: host.Result{Outcome: reducer.OK}},
		{Op: host.Tick, At: 3},
	}
	decisions, err := p.Batch(nil, events)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range decisions {
		fmt.Println(d.At, "call", d.Call.Slot(), d.Kind)
	}
	fmt.Println("the call continues:", events[1].Call == decisions[3].Call)
	// Output:
	// 0s call 0 admit
	// 1ns call 1 wait
	// 2ns call 0 end
	// 2ns call 1 admit
	// the call continues: true
}
