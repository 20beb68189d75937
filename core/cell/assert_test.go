package cell_test

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/internal/assert"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// panics reports whether a function panics.
func panics(f func()) (does bool) {
	defer func() { does = recover() != nil }()
	f()
	return false
}

// planted plants a violation in the state of a machine that has admitted two callers, the second
// of which waits where it can, and reports whether the next step panics.
func planted[S any](t *testing.T, m reducer.Cell[S], plant func(s *S)) bool {
	t.Helper()
	s := reducer.ValuesOf(m).Init(0)
	for caller := range uint64(2) {
		m.Step(&s, reducer.Action{Kind: reducer.Acquire, Cost: 1, Permit: reducer.Permit{ID: caller}}, 0, new(reducer.Out))
	}
	step := func() { m.Step(&s, reducer.Action{Kind: reducer.Tick}, 0, new(reducer.Out)) }
	if panics(step) {
		t.Error("an assertion fails where nothing is planted")
	}
	plant(&s)
	return panics(step)
}

// Each assertion fires on a violation that is planted where assertions are on, and none does
// where they are off: a program has none.
func TestAssertions(t *testing.T) {
	check := func(name string, fires bool) {
		t.Helper()
		if fires != assert.On {
			t.Errorf("%s: panics %t, assertions on %t", name, fires, assert.On)
		}
	}
	places := must(bulkhead.New(bulkhead.Config{Concurrent: 1, Queue: 3, Wait: time.Minute}))
	check("bulkhead that counts a place twice", planted(t, places, func(s *bulkhead.State) { s.Held++ }))
	check("bulkhead whose queue is out of order", planted(t, places, func(s *bulkhead.State) { s.Queue.At(0).Ticket = 99 }))
	shared := must(bulkhead.NewShared(bulkhead.SharedConfig{Concurrent: 3, Lease: time.Minute}))
	check("shared bulkhead that loses a place of a member", planted(t, shared, func(s *bulkhead.SharedState) { s.Members[0].Held-- }))
	limit := must(adaptive.New(adaptive.Config{Minimum: 1, Initial: 2, Maximum: 4, Increase: 1, Decrease: reducer.Percent(90), Over: time.Second, Tolerance: reducer.Percent(10)}))
	check("adaptive limit above its maximum", planted(t, limit, func(s *adaptive.State) { s.Limit = 5 }))
	circuit := must(breaker.New(breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: time.Second}}))
	check("closed breaker with a probe", planted(t, circuit, func(s *breaker.State) { s.ProbesOut = 1 }))
	check("closed breaker that is open until a mark", planted(t, circuit, func(s *breaker.State) { s.OpenUntil = 7 }))
	tokens := must(budget.New(budget.Config{Rule: budget.Tokens, Tokens: 10, Retry: 1, Timeout: 1, Refund: 1}))
	check("tokens with a window", planted(t, tokens, func(s *budget.State) { s.Begun = true }))
	window := must(budget.New(budget.Config{Rule: budget.Windowed, Ratio: reducer.Percent(20), Window: time.Minute}))
	check("window with a count before its first one", planted(t, window, func(s *budget.State) { s.Begun = false; s.Buckets[3].First = 1 }))
	rate := must(limiter.New(limiter.Config{Count: 1, Period: time.Minute, Wait: time.Hour, Queue: 4}))
	check("limiter whose waiter asks for more than there is", planted(t, rate, func(s *limiter.State) { s.Queue().At(0).Cost = 9 }))
}
