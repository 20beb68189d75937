package fuzz

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/script"
	"github.com/sluice-go/sluice/reducer"
)

// Every decoder refuses what is not a state, and what it takes is one: it passes
// Check, has the same bytes as its encoding, and takes steps without a panic.

func FuzzTokenBucket(f *testing.F) { limit(f, limiter.TokenBucket, 1, time.Second, "tokenbucket") }

func FuzzFixedWindow(f *testing.F) { limit(f, limiter.FixedWindow, 3, 10*time.Second, "fixedwindow") }

func FuzzSlidingCounter(f *testing.F) {
	limit(f, limiter.SlidingCounter, 10, 10*time.Second, "slidingcounter")
}

func FuzzSlidingLog(f *testing.F) { limit(f, limiter.SlidingLog, 3, time.Second, "slidinglog") }

func FuzzLeakyBucket(f *testing.F) { limit(f, limiter.LeakyBucket, 2, time.Second, "leakybucket") }

func FuzzBulkhead(f *testing.F) {
	m, err := bulkhead.New(bulkhead.Config{Concurrent: 2, Queue: 3, Wait: 5 * time.Second, Lease: 10 * time.Second})
	decoder(f, made(f, m, err), "bulkhead/testdata")
}

func FuzzSharedBulkhead(f *testing.F) {
	m, err := bulkhead.NewShared(bulkhead.SharedConfig{Concurrent: 5, Lease: 10 * time.Second, Members: 3})
	decoder(f, made(f, m, err), "bulkhead/testdata/shared")
}

func FuzzAdaptive(f *testing.F) {
	m, err := adaptive.New(adaptive.Config{Maximum: 8, Initial: 4}.WithDefaults())
	decoder(f, made(f, m, err), "adaptive/testdata")
}

func FuzzBudget(f *testing.F) {
	m, err := budget.New(budget.Config{Ratio: reducer.Percent(20), MinimumCount: 1, MinimumPeriod: time.Second, Window: 10 * time.Second})
	decoder(f, made(f, m, err), "budget/testdata")
}

func FuzzTokens(f *testing.F) {
	m, err := budget.New(budget.Config{Rule: budget.Tokens, Tokens: 12}.WithDefaults())
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

func FuzzBreakerConsecutive(f *testing.F) {
	m, err := breaker.New(breaker.Config{
		Window: breaker.Consecutive, Count: 3, Probes: 3, HalfOpenMax: time.Minute,
		Open: backoff.Config{Kind: backoff.Decorrelated, Base: time.Second, Max: time.Hour},
	})
	decoder(f, made(f, m, err), "breaker/testdata")
}

func FuzzBreakerForget(f *testing.F) {
	m, err := breaker.New(breaker.Config{
		Window: breaker.Consecutive, Count: 3, Forget: time.Minute, Probes: 1, Open: backoff.Config{Kind: backoff.Constant, Base: 10 * time.Second},
	})
	decoder(f, made(f, m, err), "breaker/testdata")
}

func breakerConfig(kind breaker.WindowKind, count uint32, span time.Duration) breaker.Config {
	return breaker.Config{
		Window: kind, Count: count, Span: span, Minimum: 2, FailureRate: reducer.Percent(50), SlowOver: time.Second, SlowRate: reducer.Percent(50),
		Open: backoff.Config{Kind: backoff.Exponential, Base: time.Second, Factor: 2 * backoff.FactorOne}, Probes: 3,
	}
}

// limit fuzzes a limiter with a queue, beginning with the golden states of the algorithm and
// with the golden states of limiters that have it.
func limit(f *testing.F, a limiter.Algorithm, count uint32, period time.Duration, folder string) {
	c := limiter.Config{Algorithm: a, Count: count, Period: period, Wait: 5 * time.Second, Queue: 3}
	if a == limiter.TokenBucket {
		c.Burst = 3
	}
	m, err := limiter.New(c)
	decoder(f, made(f, m, err), folder+"/testdata", "limiter/testdata/"+a.String())
}

func made[M any](f *testing.F, m M, err error) M {
	if err != nil {
		f.Fatal(err)
	}
	return m
}

// decoder fuzzes a cell's decoder, beginning with a fresh state and with the golden
// states of some folders, under the header of the cell.
func decoder[S any](f *testing.F, cell reducer.Cell[S], folders ...string) {
	fresh := reducer.ValuesOf(cell).AppendState(nil, reducer.ValuesOf(cell).Init(5))
	f.Add(fresh, uint64(2))
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join("../../../core", filepath.FromSlash(folder), "golden", "*.hex"))
		if err != nil || len(paths) == 0 {
			f.Fatalf("no golden states in %s (%v)", folder, err)
		}
		for _, path := range paths {
			golden, err := script.ReadGolden(path)
			if err != nil {
				f.Fatal(err)
			}
			copy(golden[:headerSize], fresh)
			f.Add(golden, uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte, seed uint64) {
		if err := script.Decodes(cell, src); err != nil {
			t.Fatal(err)
		}
		if state, err := reducer.ValuesOf(cell).DecodeState(src); err == nil {
			walk(t, cell, state, seed)
		}
	})
}

// headerSize is the size of the header of an encoded state: version, mechanism, digest.
const headerSize = 6

// walk takes the state through 20 random steps. After each it passes Check, and
// the steps before it have not changed their own states.
func walk[S any](t *testing.T, cell reducer.Cell[S], state S, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	var now clock.Mark
	if at, ok := reducer.ValuesOf(cell).NextWake(state); ok {
		now = at
	}
	for range 20 {
		now = now.Add(time.Duration(r.Int64N(int64(5 * time.Second))))
		if r.IntN(20) == 0 {
			now = clock.Mark(r.Uint64())
		}
		a := reducer.Action{
			Kind: reducer.Kind(r.UintN(uint(reducer.Configure) + 2)), Outcome: reducer.Outcome(r.UintN(8)), Cost: r.Uint32N(4), Value: r.Uint64N(9),
			Permit: reducer.Permit{Generation: r.Uint64N(4), ID: r.Uint64N(4), Mark: now},
		}
		if r.IntN(10) == 0 {
			a.Cost, a.Permit = r.Uint32(), reducer.Permit{Generation: r.Uint64(), ID: r.Uint64(), Mark: clock.Mark(r.Uint64())}
		}
		before := cell.Encode(nil, &state)
		next, _ := reducer.ValuesOf(cell).Reduce(state, a, now)
		if !bytes.Equal(before, cell.Encode(nil, &state)) {
			t.Fatalf("%v at %v changed the state that it came from", a, now)
		}
		if err := cell.Check(&next); err != nil {
			t.Fatalf("after %v at %v: %v", a, now, err)
		}
		cell.AppendText(nil, &next, now)
		state = next
	}
}
