package drive

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// A caller is what was packed, for every step and attempt that a policy can have.
func TestCaller(t *testing.T) {
	for _, slot := range []uint32{0, 1, math.MaxUint32} {
		for i := range pipeline.MaxSteps {
			for k := range uint8(pipeline.MaxTries + 1) {
				if c := callerOf(slot, k, i); c.slot() != slot || c.step() != i || c.attempt() != k {
					t.Errorf("%d %d %d became %d %d %d", slot, k, i, c.slot(), c.attempt(), c.step())
				}
			}
		}
	}
}

// The last step of the longest policy serves each of the most attempts of a round, in the
// order in which they wait.
func TestMostStepsAndAttempts(t *testing.T) {
	p := pipeline.Policy{Steps: []pipeline.Step{{Name: "hedge", Config: hedge.Config{Parallel: true, Max: hedge.MaxHedges}}}}
	for len(p.Steps) < pipeline.MaxSteps {
		p.Steps = append(p.Steps, pipeline.Step{Name: fmt.Sprint("places ", len(p.Steps)), Config: bulkhead.Config{Concurrent: 100}})
	}
	last := pipeline.MaxSteps - 1
	p.Steps[last].Config = bulkhead.Config{Concurrent: 1, Queue: 100}
	plan, err := pipeline.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	d := New(plan, 0)
	call := d.Begin(&Request{Deadline: -1})
	for k := uint32(1); k <= pipeline.MaxTries; k++ {
		d.Done(call, Result{Attempt: k, Outcome: reducer.Fail})
	}
	var admitted []uint32
	for _, x := range d.Decisions {
		if x.Kind == decision.Admit {
			admitted = append(admitted, x.Attempt)
		}
	}
	if got, want := fmt.Sprint(admitted), "[1 2 3 4 5 6 7 8 9 10 11]"; got != want {
		t.Errorf("admits the attempts %s, not %s", got, want)
	}
	if d.Live(call) {
		t.Error("the call is not over")
	}
}
