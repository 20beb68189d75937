package drive

import (
	"math"
	"testing"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// A handle names one call and never another one, however often a slot is used.
func TestHandlesAreUnique(t *testing.T) {
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: limiter.Config{Count: 5, Period: 10}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := New(plan, 0)
	ok := Result{Outcome: reducer.OK}
	call := func() decision.Handle {
		h := d.Begin(&Request{Cost: 0, Deadline: -1})
		if !d.Done(h, ok) {
			t.Fatalf("%+v is not found", h)
		}
		return h
	}
	first := call()
	d.calls[0].handle = decision.HandleOf(0, math.MaxUint32-1)
	seen := map[decision.Handle]bool{first: true}
	for range 5 {
		h := call()
		if seen[h] || h.Generation() == 0 {
			t.Fatalf("the handle %+v is used again", h)
		}
		seen[h] = true
	}
	for h := range seen {
		if d.Live(h) || d.Done(h, ok) {
			t.Errorf("the handle %+v of a call that is over names one", h)
		}
	}
}

// What a driver adds before a call: a cell for a new key as long as there is room, and
// a call that takes no memory of an earlier one. A closed driver refers to nothing.
func TestAddsAndClose(t *testing.T) {
	step := pipeline.Step{Config: limiter.Config{Count: 5, Period: 10}, Per: []string{"key"}, Keys: 2}
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{step, {Config: limiter.Config{Count: 5, Period: 10}}}})
	if err != nil {
		t.Fatal(err)
	}
	d := New(plan, 0)
	begin := func(key uint32) decision.Handle {
		r := Request{Cost: 1, Deadline: -1}
		r.Keys[0] = key
		return d.Begin(&r)
	}
	if d.Idle() || !d.Adds(0, 7) || d.Adds(1, 7) || d.Adds(2, 7) {
		t.Error("a new driver has no call and no cell of a key")
	}
	h := begin(7)
	if d.Idle() || d.Adds(0, 7) || !d.Adds(0, 8) {
		t.Error("the key 7 has a cell, and its call is running")
	}
	d.Done(h, Result{Outcome: reducer.OK})
	begin(8)
	if d.Adds(0, 9) {
		t.Error("a key above the greatest number takes the cell of another one")
	}
	layout, pool := d.layout, d.layout.pools[0]
	d.Close()
	if d.calls != nil || d.heap != nil || pool.table != nil || layout.pools[1].one != nil {
		t.Error("a closed driver refers to cells")
	}
}
