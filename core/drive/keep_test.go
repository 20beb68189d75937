package drive

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/core/timeout"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

func planOf(t *testing.T, configs ...mechanism.Config) *pipeline.Plan {
	t.Helper()
	var steps []pipeline.Step
	for _, c := range configs {
		steps = append(steps, pipeline.Step{Config: c})
	}
	plan, err := pipeline.Compile(pipeline.Policy{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// free returns how many places are free at a step.
func free(d *Driver, step int) uint32 {
	answer, _ := d.Ask(step, 0, reducer.Action{Kind: reducer.Peek})
	return answer.Free
}

// A call that keeps its places votes, ends and is told as any other. Its places are
// returned by Cancel, once, and its timeout does not cut what it keeps.
func TestKeptPlaces(t *testing.T) {
	vote := breaker.Config{Window: breaker.Consecutive, Count: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Hour}}
	plan := planOf(t, timeout.Config{After: time.Minute}, bulkhead.Config{Concurrent: 3}, retry.Config{Attempts: 2}, timeout.Config{After: 10 * time.Second}, vote, bulkhead.Config{Concurrent: 1, Queue: 5})
	d := New(plan, 0)
	h := d.Begin(&Request{Cost: 1, Deadline: -1})
	next := d.Begin(&Request{Cost: 1, Deadline: -1})
	d.Advance(clock.Mark(4 * time.Second))
	left, live := d.DoneKeeping(h, Result{Outcome: reducer.OK})
	if want := (Kept{Places: 2, Cut: clock.Mark(10 * time.Second), Step: 3}); left != want || !live {
		t.Fatalf("found %+v, want %+v", left, want)
	}
	if last := d.Decisions[len(d.Decisions)-1]; last.Kind != decision.End || !last.Last || last.Outcome != reducer.OK {
		t.Fatalf("found %+v", last)
	}
	if free(d, 1) != 1 || free(d, 5) != 0 {
		t.Fatalf("%d and %d places are free", free(d, 1), free(d, 5))
	}
	if d.Done(h, Result{Outcome: reducer.OK}) || d.Renew(h, 0) || d.Vote(h, reducer.Fail, 0) {
		t.Error("the call has ended")
	}
	told := len(d.Decisions)
	d.Advance(clock.Mark(9 * time.Second))
	if len(d.Decisions) != told {
		t.Errorf("found %+v", d.Decisions[told:])
	}
	other := d.Begin(&Request{Cost: 1, Deadline: -1})
	if h.Slot() == other.Slot() || next.Slot() == other.Slot() {
		t.Error("the slot is used again")
	}
	told = len(d.Decisions)
	if !d.Cancel(h) || d.Cancel(h) || d.Live(h) {
		t.Error("a call returns its places once")
	}
	if granted := d.Decisions[told:]; len(granted) != 1 || granted[0].Kind != decision.Admit || granted[0].Call != next {
		t.Errorf("found %+v", granted)
	}
}

// Where another attempt follows, and where an attempt of a round lost, nothing is kept.
func TestNothingKeptBeforeTheEnd(t *testing.T) {
	none := backoff.Config{Kind: backoff.None}
	d := New(planOf(t, retry.Config{Attempts: 2, Backoff: none}, bulkhead.Config{Concurrent: 1}), 0)
	h := d.Begin(&Request{Cost: 1, Deadline: -1})
	left, _ := d.DoneKeeping(h, Result{Outcome: reducer.Fail})
	if left.Places != 0 || left.Cut != clock.Never {
		t.Errorf("found %+v", left)
	}
	if last := d.Decisions[len(d.Decisions)-1]; last.Kind != decision.Admit || last.Attempt != 2 {
		t.Errorf("found %+v", last)
	}
	if left, _ = d.DoneKeeping(h, Result{Outcome: reducer.Fail}); left.Places != 1 || free(d, 1) != 0 {
		t.Errorf("found %+v of the last attempt", left)
	}

	adaptive := budget.Config{Rule: budget.Adaptive, Window: 10 * time.Second}
	d = New(planOf(t, retry.Config{Attempts: 2, Backoff: none, Budget: adaptive}, bulkhead.Config{Concurrent: 1}), 0)
	h = d.Begin(&Request{Cost: 1, Deadline: -1})
	d.DoneKeeping(h, Result{Outcome: reducer.Fail})
	if last := d.Decisions[len(d.Decisions)-1]; last.Kind != decision.Admit || last.Attempt != 2 {
		t.Errorf("found %+v where the place of the first attempt is the only one", last)
	}

	d = New(planOf(t, bulkhead.Config{Concurrent: 5}, hedge.Config{Parallel: true, Max: 2}, bulkhead.Config{Concurrent: 5}), 0)
	h = d.Begin(&Request{Cost: 1, Deadline: -1})
	if free(d, 2) != 2 {
		t.Fatalf("%d places are free", free(d, 2))
	}
	d.DoneKeeping(h, Result{Attempt: 1, Outcome: reducer.Fail})
	if free(d, 2) != 3 {
		t.Errorf("%d places are free after a failure beside others", free(d, 2))
	}
	if left, _ = d.DoneKeeping(h, Result{Attempt: 3, Outcome: reducer.OK}); left.Places != 2 || free(d, 0) != 4 || free(d, 2) != 4 {
		t.Errorf("found %+v, and %d and %d free places", left, free(d, 0), free(d, 2))
	}
	d.Cancel(h)
	if free(d, 0) != 5 || free(d, 2) != 5 {
		t.Errorf("%d and %d places are free", free(d, 0), free(d, 2))
	}
}

// Whatever calls keep and return, a driver that no call uses has all its places.
func TestKeptPlacesAreConserved(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(testenv.Seed(), seed))
		configs := []mechanism.Config{bulkhead.Config{Concurrent: 4, Queue: 2}, retry.Config{Attempts: 3, Backoff: backoff.Config{Kind: backoff.None}}}
		if r.IntN(2) == 0 {
			configs = append(configs, hedge.Config{Parallel: true, Max: 1})
		}
		d := New(planOf(t, append(configs, bulkhead.Config{Concurrent: 3}, timeout.Config{After: 5 * time.Second})...), 0)
		last := len(configs)
		var handles []decision.Handle
		for range 200 {
			d.Advance(d.Now().Add(time.Duration(r.IntN(3)) * time.Second))
			switch n := len(handles); {
			case n == 0 || r.IntN(3) == 0:
				handles = append(handles, d.Begin(&Request{Cost: 1, Deadline: -1}))
			case r.IntN(4) == 0:
				d.Cancel(handles[r.IntN(n)])
			default:
				ended := d.Done
				if r.IntN(3) > 0 {
					ended = func(h decision.Handle, r Result) bool { _, live := d.DoneKeeping(h, r); return live }
				}
				ended(handles[r.IntN(n)], Result{Outcome: reducer.Outcome(1 + r.IntN(4))})
			}
		}
		for _, h := range handles {
			for d.Live(h) {
				d.Cancel(h)
			}
		}
		if free(d, 0) != 4 || free(d, last) != 3 {
			t.Fatalf("SLUICE_SEED=%d, history %d: %d and %d places are free", testenv.Seed(), seed, free(d, 0), free(d, last))
		}
	}
}
