package limiter_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

func TestScripts(t *testing.T) {
	for a := range limiter.Algorithms {
		t.Run(a.String(), func(t *testing.T) { script.Limits(t, "testdata/"+a.String(), a) })
	}
}

// TestFarTurns: behind callers that wait for centuries no turn is earlier than
// theirs, and beyond the end of the line of marks there is none.
func TestFarTurns(t *testing.T) {
	const year = 8760 * time.Hour
	for _, c := range []struct {
		limiter.Config
		cost uint32
	}{
		{limiter.Config{Algorithm: limiter.TokenBucket, Count: 1, Period: year, Burst: 1}, 1},
		{limiter.Config{Algorithm: limiter.TokenBucket, Count: 1, Period: year, Burst: 146}, 146},
		{limiter.Config{Algorithm: limiter.FixedWindow, Count: 3, Period: 100 * year}, 2},
		{limiter.Config{Algorithm: limiter.SlidingCounter, Count: 3, Period: 100 * year}, 3},
		{limiter.Config{Algorithm: limiter.SlidingLog, Count: 3, Period: 100 * year}, 2},
		{limiter.Config{Algorithm: limiter.LeakyBucket, Count: 1, Period: year}, 1},
	} {
		c.Wait, c.Queue = 1<<63-1, limiter.MaxQueue
		t.Run(c.Algorithm.String(), func(t *testing.T) {
			m, err := limiter.New(c.Config)
			if err != nil {
				t.Fatal(err)
			}
			s, last := reducer.ValuesOf(m).Init(0), clock.Mark(0)
			for caller := range uint64(400) {
				a := reducer.Action{Kind: reducer.Acquire, Cost: c.cost, Permit: reducer.Permit{ID: caller}}
				answer := m.Step(&s, a, 0, new(reducer.Out))
				turn := clock.Mark(0)
				if answer.Verdict != reducer.Admit {
					turn = answer.Mark
				}
				if turn < last {
					t.Fatalf("caller %d has its turn at %v, the one before at %v", caller, turn, last)
				}
				last = turn
			}
			if last != clock.Never {
				t.Errorf("the last turn is %v", last)
			}
		})
	}
}

// What no algorithm grants: a cost above the capacity, whose refusal says so, and at
// the end of the line of marks any cost, because nothing can end after it. A cost of
// 0 passes.
func TestNeverGranted(t *testing.T) {
	for a := range limiter.Algorithms {
		m, err := limiter.New(limiter.Config{Algorithm: a, Count: 3, Period: 30})
		if err != nil {
			t.Fatal(err)
		}
		for _, begun := range []clock.Mark{0, 1, clock.Never - 1, clock.Never} {
			s := reducer.ValuesOf(m).Init(begun)
			var out reducer.Out
			if begun == clock.Never-1 || begun == 1 {
				m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1}, begun, &out)
			}
			before := m.Encode(nil, &s)
			for _, kind := range []reducer.Kind{reducer.Acquire, reducer.TryAcquire, reducer.Reserve, reducer.Peek} {
				ask := func(cost uint32, now clock.Mark) reducer.Answer {
					return m.Step(&s, reducer.Action{Kind: kind, Cost: cost, Permit: reducer.Permit{Mark: clock.Never}}, now, &out)
				}
				if got := ask(4, 40); got.Verdict != reducer.Reject || got.Reason != reducer.ReasonCapacity || got.Mark != clock.Never {
					t.Errorf("%v begun at %v: %v of 4 permits: %v", a, begun, kind, got)
				}
				if got := ask(1, clock.Never); got.Verdict != reducer.Reject || got.Reason != reducer.ReasonRate || got.Mark != clock.Never {
					t.Errorf("%v begun at %v: %v at the end of the line: %v", a, begun, kind, got)
				}
				if got := ask(0, clock.Never); got.Verdict != reducer.Admit {
					t.Errorf("%v begun at %v: %v of nothing: %v", a, begun, kind, got)
				}
			}
			if after := m.Encode(nil, &s); !bytes.Equal(before, after) {
				t.Errorf("%v begun at %v: %x became %x", a, begun, before, after)
			}
		}
	}
}
