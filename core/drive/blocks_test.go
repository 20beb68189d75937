package drive

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// keyedPlan is a plan of a limit with a cell for each key below one that all calls share.
func keyedPlan(t *testing.T) *pipeline.Plan {
	t.Helper()
	limit := limiter.Config{Count: 100, Period: time.Second, Burst: 100}
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{
		{Name: "all", Config: limit}, {Name: "each", Config: limit, Per: []string{"key"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// last returns the last decision about a call of a key.
func last(d *Driver, key uint32) decision.Decision {
	d.Decisions = d.Decisions[:0]
	d.Begin(&Request{Cost: 1, Deadline: -1, Keys: [pipeline.MaxSteps]uint32{1: key}})
	return d.Decisions[len(d.Decisions)-1]
}

func TestBlocks(t *testing.T) {
	d := New(keyedPlan(t), 1)
	if d.Block(0, 0, time.Second) {
		t.Error("a step without keys has no blocks")
	}
	if d.Block(1, 7, 0) {
		t.Error("a block lasts more than 0")
	}
	if !d.Block(1, 7, time.Second) || !d.Block(1, 3, time.Minute) {
		t.Fatal("not blocked")
	}
	if x := last(d, 7); x.Kind != decision.Reject || x.Reason != reducer.ReasonBlocked || x.Step != "each" || x.RetryAfter != time.Second {
		t.Errorf("%+v", x)
	}
	if x := last(d, 8); x.Kind != decision.Admit {
		t.Errorf("another key: %+v", x)
	}
	if answer, _ := d.Ask(1, 7, reducer.Action{Kind: reducer.Peek, Cost: 1}); answer.Reason != reducer.ReasonBlocked {
		t.Errorf("%+v", answer)
	}
	if !d.Uses(3) || !d.Uses(7) {
		t.Error("the number of a blocked key may be given to another one")
	}
	// A step above has its permit back, as after any refusal.
	if answer, _ := d.Ask(0, 0, reducer.Action{Kind: reducer.Peek, Cost: 1}); answer.Free != 99 {
		t.Errorf("%d free", answer.Free)
	}
	d.Advance(d.Now().Add(time.Second))
	if x := last(d, 7); x.Kind != decision.Admit {
		t.Errorf("after the block: %+v", x)
	}
	if !d.Unblock(1, 3) || d.Unblock(1, 3) || d.Unblock(1, 7) || d.Uses(3) {
		t.Error("an unblocked key stays blocked")
	}
	if x := last(d, 3); x.Kind != decision.Admit {
		t.Errorf("%+v", x)
	}
}

func TestBlocksAreBounded(t *testing.T) {
	d := New(keyedPlan(t), 1)
	for key := range uint32(MaxBlocks) {
		if !d.Block(1, MaxBlocks-key, time.Second) {
			t.Fatal(key)
		}
	}
	if d.Block(1, MaxBlocks+1, time.Second) {
		t.Error("more keys are blocked than may be")
	}
	if !d.Block(1, 5, time.Second) {
		t.Error("the time of a blocked key cannot be replaced")
	}
	d.Advance(d.Now().Add(2 * time.Second))
	if !d.Block(1, MaxBlocks+1, time.Second) || d.Uses(5) {
		t.Error("blocks that are over have room")
	}
	// A plan without the step forgets its blocks.
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Name: "all", Config: limiter.Config{Count: 1, Period: time.Second, Burst: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Configure(plan)
	if d.Uses(MaxBlocks + 1) {
		t.Error("a block outlives its step")
	}
}

func TestDrainMakesACell(t *testing.T) {
	d := New(keyedPlan(t), 1)
	if answer, _ := d.Ask(1, 9, reducer.Action{Kind: reducer.Drain}); answer.Verdict != reducer.Done {
		t.Fatalf("%+v", answer)
	}
	if x := last(d, 9); x.Kind != decision.Reject || x.Reason != reducer.ReasonRate {
		t.Errorf("%+v", x)
	}
}
