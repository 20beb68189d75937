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
