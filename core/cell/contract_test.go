package cell_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// The contract of a machine has at most 14 methods: one form of each.
func TestMethods(t *testing.T) {
	if n := reflect.TypeFor[reducer.Cell[int]]().NumMethod(); n > 14 {
		t.Errorf("a machine has %d methods; allowed: 14", n)
	}
}

// stranger is a machine of another type than the one that made a state.
type stranger[S any] struct{ reducer.Cell[S] }

// TestInheritAnew: a state of a machine that is of another type begins anew, and one of the same
// type does not.
func TestInheritAnew(t *testing.T) {
	acquire := reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: 1}}
	record := reducer.Action{Kind: reducer.Record, Outcome: reducer.Fail}
	limit, err := limiter.New(limiter.Config{Count: 1, Period: time.Second, Burst: 2})
	inherits(t, limit, err, acquire)
	brk, err := breaker.New(breaker.Config{Window: breaker.Consecutive, Count: 3, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Second}})
	inherits(t, brk, err, acquire)
	places, err := bulkhead.New(bulkhead.Config{Concurrent: 2})
	inherits(t, places, err, acquire)
	shared, err := bulkhead.NewShared(bulkhead.SharedConfig{Concurrent: 2, Lease: time.Second})
	inherits(t, shared, err, acquire)
	adapts, err := adaptive.New(adaptive.Config{Initial: 2, Over: time.Second}.WithDefaults())
	inherits(t, adapts, err, acquire)
	retries, err := budget.New(budget.Config{Ratio: reducer.Percent(20), Window: time.Second})
	inherits(t, retries, err, record)
	hedges, err := hedge.New(hedge.Config{Percentile: reducer.Percent(90), Max: 1})
	inherits(t, hedges, err, reducer.Action{Kind: reducer.Observe, Value: 5})
}

func inherits[S any](t *testing.T, m reducer.Cell[S], err error, a reducer.Action) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	const at = clock.Mark(2 * time.Second)
	values, out := reducer.ValuesOf(m), reducer.Out{}
	used, effects := values.Reduce(values.Init(0), a, 0)
	if !effects.Answer.Changed {
		t.Fatalf("%T: %v: %v", m, a, effects)
	}
	fresh := values.AppendState(nil, values.Init(at))
	if got := values.AppendState(nil, values.Adopt(used, stranger[S]{m}, at, &out)); !bytes.Equal(got, fresh) {
		t.Errorf("%T: the state that came from a machine of another type is not a new one", m)
	}
	if got := values.AppendState(nil, values.Adopt(used, m, at, &out)); bytes.Equal(got, fresh) {
		t.Errorf("%T: of a machine of its own type the state begins anew", m)
	}
}
