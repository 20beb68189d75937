package cell_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// TestQuick compares Enter and Exit with Step: one cell only uses Step, a second one
// takes the fast path where there is one. Their states stay byte for byte the same,
// and the fast path is taken.
func TestQuick(t *testing.T) {
	rate := limiter.Config{Count: 3, Period: 10, Wait: 0}
	waits := rate
	waits.Wait, waits.Queue = 8, 2
	window := rate
	window.Algorithm = limiter.FixedWindow
	sliding := waits
	sliding.Algorithm = limiter.SlidingCounter
	small := breaker.Config{Window: breaker.Calls, Count: 4, Minimum: 2, FailureRate: reducer.Percent(50), Probes: 2,
		SlowOver: 3, SlowRate: reducer.Percent(100), Open: backoff.Config{Kind: backoff.Constant, Base: 7}}
	large := small
	large.Count = 400
	timed := small
	timed.Window, timed.Span = breaker.Time, 20
	makers := map[string]func() (cell.Maker, error){
		"token bucket": func() (cell.Maker, error) { return limiter.Cells(rate) },
		"queue":        func() (cell.Maker, error) { return limiter.Cells(waits) },
		"fixed window": func() (cell.Maker, error) { return limiter.Cells(window) },
		"sliding":      func() (cell.Maker, error) { return limiter.Cells(sliding) },
		"breaker":      func() (cell.Maker, error) { return breaker.Cells(small) },
		"large":        func() (cell.Maker, error) { return breaker.Cells(large) },
		"buckets":      func() (cell.Maker, error) { return breaker.Cells(timed) },
		"bulkhead": func() (cell.Maker, error) {
			return bulkhead.Cells(bulkhead.Config{Concurrent: 6, Queue: 1})
		},
		"leases": func() (cell.Maker, error) {
			return bulkhead.Cells(bulkhead.Config{Concurrent: 2, Queue: 1, Lease: 9})
		},
	}
	// A limiter releases nothing after a success, and leases end by a step.
	exceptions := map[string][2]bool{"token bucket": {true}, "queue": {true}, "fixed window": {true}, "sliding": {true}, "leases": {}}
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			maker, err := make()
			if err != nil {
				t.Fatal(err)
			}
			enters, exits := 0, 0
			for seed := range uint64(300) {
				entered, exited := walk(t, maker, rand.New(rand.NewPCG(seed, 1)))
				enters, exits = enters+entered, exits+exited
			}
			want, exception := exceptions[name]
			if !exception {
				want = [2]bool{true, true}
			}
			if enters > 300 != want[0] || exits > 300 != want[1] {
				t.Errorf("the fast path was taken %d times, and %d times back", enters, exits)
			}
		})
	}
}

// walk returns how often Enter and Exit did what Step would have done.
func walk(t *testing.T, maker cell.Maker, rng *rand.Rand) (entered, exited int) {
	plain, quick := maker.New(0), maker.New(0)
	var held []reducer.Permit
	var out, twin reducer.Out
	now := clock.Mark(0)
	for n := range uint64(60) {
		now = now.Add(time.Duration(rng.IntN(4) - 1))
		if len(held) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(held))
			p := held[i]
			held = append(held[:i], held[i+1:]...)
			kind, outcome := reducer.Record, reducer.OK
			if rng.IntN(3) == 0 {
				outcome = reducer.Fail
			}
			if breaker.CoreOf(plain) == nil {
				kind = reducer.Release
			}
			a := reducer.Action{Kind: kind, Outcome: outcome, Permit: p}
			plain.Step(a, now, &out)
			if outcome == reducer.Fail && kind == reducer.Record || !quick.Exit(p, now) {
				quick.Step(a, now, &twin)
			} else {
				exited++
			}
		} else {
			cost := uint32(rng.IntN(4))
			a := reducer.Action{Kind: reducer.Acquire, Cost: cost, Permit: reducer.Permit{ID: n}}
			answer := plain.Step(a, now, &out)
			p, ok := quick.Enter(cost, n, clock.Never, now)
			if ok {
				entered++
			} else {
				again := quick.Step(a, now, &twin)
				p, ok = again.Permit, again.Verdict == reducer.Admit
			}
			if ok != (answer.Verdict == reducer.Admit) || ok && p != answer.Permit {
				t.Fatalf("step %d at %v: %+v and %+v, %v", n, now, answer, p, ok)
			}
			if ok && cost > 0 {
				held = append(held, p)
			}
		}
		if a, b := plain.AppendState(nil), quick.AppendState(nil); !bytes.Equal(a, b) || len(out) != len(twin) {
			t.Fatalf("step %d at %v: the states differ:\n%x\n%x", n, now, a, b)
		}
	}
	return entered, exited
}
