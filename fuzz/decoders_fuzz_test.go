package fuzz

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/fixedwindow"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// Every decoder refuses what is not a state, and what it takes is one: it passes
// Check, has the very bytes as its encoding, and goes on without a panic.

func FuzzTokenBucket(f *testing.F) { decoder(f, bucket(f), "tokenbucket/testdata") }

func FuzzFixedWindow(f *testing.F) { decoder(f, window(f), "fixedwindow/testdata") }

func FuzzSlidingCounter(f *testing.F) { decoder(f, counter(f), "slidingcounter/testdata") }

func FuzzLimiter(f *testing.F) {
	decoder(f, queued[tokenbucket.State](f, bucket(f)), "limiter/testdata/token-bucket")
}

func FuzzLimiterFixedWindow(f *testing.F) {
	decoder(f, queued[fixedwindow.State](f, window(f)), "limiter/testdata/fixed-window")
}

func FuzzLimiterSlidingCounter(f *testing.F) {
	decoder(f, queued[slidingcounter.State](f, counter(f)), "limiter/testdata/sliding-counter")
}

func FuzzBulkhead(f *testing.F) {
	m, err := bulkhead.New(bulkhead.Config{Concurrent: 2, Queue: 3, Wait: 5 * time.Second, Lease: 10 * time.Second})
	decoder(f, made(f, m, err), "bulkhead/testdata")
}

func FuzzBudget(f *testing.F) {
	m, err := budget.New(budget.Config{Ratio: 200_000, MinimumCount: 1, MinimumPeriod: time.Second, Window: 10 * time.Second})
	decoder(f, made(f, m, err), "budget/testdata")
}

func FuzzBreaker(f *testing.F) {
	m, err := breaker.New(breakerConfig(breaker.Calls, 100, 0))
	decoder(f, made(f, m, err), "breaker/testdata")
}

func FuzzBreakerTime(f *testing.F) {
	m, err := breaker.New(breakerConfig(breaker.Time, 5, 10*time.Second))
	decoder(f, made(f, m, err), "breaker/testdata")
}

func FuzzBreakerLarge(f *testing.F) {
	m, err := breaker.NewLarge(breakerConfig(breaker.Time, 20, time.Hour))
	decoder(f, made(f, m, err), "breaker/testdata/large")
}

func breakerConfig(kind breaker.WindowKind, count uint32, span time.Duration) breaker.Config {
	return breaker.Config{
		Window: kind, Count: count, Span: span, Minimum: 2, FailureRate: 500_000, SlowOver: time.Second, SlowRate: 500_000,
		Open: backoff.Config{Kind: backoff.Exponential, Base: time.Second, Factor: 2 * backoff.FactorOne}, Probes: 3,
	}
}

func bucket(f *testing.F) *tokenbucket.Machine {
	m, err := tokenbucket.New(tokenbucket.Config{Count: 1, Period: time.Second, Burst: 3})
	return made(f, m, err)
}

func window(f *testing.F) *fixedwindow.Machine {
	m, err := fixedwindow.New(fixedwindow.Config{Count: 3, Period: 10 * time.Second})
	return made(f, m, err)
}

func counter(f *testing.F) *slidingcounter.Machine {
	m, err := slidingcounter.New(slidingcounter.Config{Count: 10, Period: 10 * time.Second})
	return made(f, m, err)
}

func queued[S any, C limiter.Counter[S]](f *testing.F, c C) *limiter.Machine[S, C] {
	m, err := limiter.New[S](c, limiter.Waiting{Wait: 5 * time.Second, Queue: 3})
	return made(f, m, err)
}

func made[M any](f *testing.F, m M, err error) M {
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// decoder fuzzes a cell's decoder, beginning with the golden states of a folder
// and with a fresh one.
func decoder[S any](f *testing.F, cell reducer.Cell[S], folder string) {
	paths, err := filepath.Glob(filepath.Join("..", "core", filepath.FromSlash(folder), "golden", "*.hex"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no golden states in %s (%v)", folder, err)
	}
	for _, path := range paths {
		golden, err := script.ReadGolden(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(golden, uint64(1))
	}
	f.Add(cell.AppendState(nil, cell.Init(5)), uint64(2))
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) {
		if err := script.Decodes(cell, src); err != nil {
			t.Fatal(err)
		}
		if state, err := cell.DecodeState(src); err == nil {
			walk(t, cell, state, seed)
		}
	})
}

// walk takes the state through 20 random steps. After each it passes Check, and
// the steps before it have not changed their own states.
func walk[S any](t *testing.T, cell reducer.Cell[S], state S, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	var now clock.Mark
	if at, ok := cell.NextWake(state); ok {
		now = at
	}
	for range 20 {
		now = now.Add(time.Duration(r.Int64N(int64(5 * time.Second))))
		if r.IntN(20) == 0 {
			now = clock.Mark(r.Uint64())
		}
		a := reducer.Action{
			Kind: reducer.Kind(r.UintN(uint(reducer.Reset) + 2)), Outcome: reducer.Outcome(r.UintN(8)), Cost: r.Uint32N(4),
			Permit: reducer.Permit{Generation: r.Uint64N(4), ID: r.Uint64N(4), Mark: now},
		}
		if r.IntN(10) == 0 {
			a.Cost, a.Permit = r.Uint32(), reducer.Permit{Generation: r.Uint64(), ID: r.Uint64(), Mark: clock.Mark(r.Uint64())}
		}
		before := cell.AppendState(nil, state)
		next, _ := cell.Reduce(state, a, now)
		if !bytes.Equal(before, cell.AppendState(nil, state)) {
			t.Fatalf("%v at %v changed the state that it came from", a, now)
		}
		if err := cell.Check(next); err != nil {
			t.Fatalf("after %v at %v: %v", a, now, err)
		}
		cell.AppendText(nil, next, now)
		state = next
	}
}
