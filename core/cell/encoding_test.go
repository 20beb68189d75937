package cell_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
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
	"github.com/sluice-go/sluice/core/slidingcounter"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// A state has one form in bytes (G9): damaged bytes are refused, or are the encoding
// of a sound state that can be stepped. The test has its own definition of a sound
// state, apart from the checks of the decoders. Steps of a clone or of a shifted
// state leave the state as it is (G2).
func TestBytesHaveOneForm(t *testing.T) {
	for a := range limiter.Algorithms {
		c := limiter.Config{Algorithm: a, Count: 3, Period: 12, Wait: 30, Queue: 4}
		oneForm(t, a.String(), must(limiter.New(c)), soundLimit(a))
		c.Order = limiter.Newest
		oneForm(t, a.String()+" newest first", must(limiter.New(c)), soundLimit(a))
	}
	calls := breaker.Config{Window: breaker.Calls, Count: 7, Minimum: 2, FailureRate: reducer.Percent(50), Probes: 3,
		SlowOver: 3, SlowRate: reducer.Percent(100), Open: backoff.Config{Kind: backoff.Constant, Base: 7}}
	timed := calls
	timed.Window, timed.Span, timed.Count = breaker.Time, 20, 5
	row := breaker.Config{Window: breaker.Consecutive, Count: 3, Probes: 3, Open: calls.Open}
	oneForm(t, "breaker of calls", must(breaker.New(calls)), soundBreaker)
	oneForm(t, "breaker of buckets", must(breaker.New(timed)), soundBreaker)
	oneForm(t, "breaker of failures in a row", must(breaker.New(row)), soundBreaker)
	row.Forget = 15
	oneForm(t, "breaker that forgets", must(breaker.New(row)), soundBreaker)
	oneForm(t, "bulkhead", must(bulkhead.New(bulkhead.Config{Concurrent: 3, Queue: 3, Wait: 20, Lease: 9})), soundBulkhead)
	oneForm(t, "bulkhead without a lease", must(bulkhead.New(bulkhead.Config{Concurrent: 3, Queue: 3})), soundBulkhead)
	oneForm(t, "shared bulkhead", must(bulkhead.NewShared(bulkhead.SharedConfig{Concurrent: 5, Lease: 9})), soundShared)
	ratio := budget.Config{Ratio: reducer.Percent(50), MinimumCount: 1, MinimumPeriod: 10, Window: 20}
	oneForm(t, "budget", must(budget.New(ratio)), soundBudget)
	tokens := budget.Config{Rule: budget.Tokens, Tokens: 5}.WithDefaults()
	oneForm(t, "token-bucket budget", must(budget.New(tokens)), func(s budget.State) bool { return s == budget.State{Taken: s.Taken} && s.Taken <= 5_000 })
	oneForm(t, "adaptive", must(adaptive.New(adaptive.Config{Initial: 3, Minimum: 2, Maximum: 5, Increase: 1, Decrease: reducer.Percent(10), Tolerance: reducer.Percent(15), Over: 5, Lease: 9})), func(s adaptive.State) bool {
		return s.Limit >= 2 && s.Limit <= 5 && s.Round.Since <= s.Last && s.Round.Quick <= s.Round.Good && s.InUse() <= adaptive.MaxLimit
	})
	oneForm(t, "hedge", must(hedge.New(hedge.Config{Percentile: reducer.Percent(50), Samples: 5, Minimum: 2})), soundHedge)
	oneForm(t, "hedge with a budget", must(hedge.New(hedge.Config{Percentile: reducer.Percent(50), Samples: 5, Minimum: 2, Budgeted: true, Budget: ratio})), soundHedge)
}

func must[M any](m *M, err error) *M {
	if err != nil {
		panic(err)
	}
	return m
}

func soundLimit(a limiter.Algorithm) func(limiter.State) bool {
	return func(s limiter.State) bool {
		ticket := uint64(0)
		for i := range int(s.Waiting()) {
			w := s.Queue().At(i)
			if w.Ticket <= ticket || w.Ticket > s.Queue().Tickets() || w.Cost == 0 || w.Cost > 3 {
				return false
			}
			ticket = w.Ticket
		}
		window, counter := s.Window(), s.Counter()
		switch a {
		case limiter.FixedWindow:
			return window.Start == 0 && window.End == 0 && window.Used == 0 || window.Start < window.End && window.Start <= s.Last
		case limiter.SlidingCounter:
			return counter == slidingcounter.State{Number: counter.Number} ||
				counter.Span > 0 && counter.Start <= s.Last && counter.Idle <= 2 && counter.Undone <= 3
		case limiter.SlidingLog:
			return s.Log().Len() <= 10_000
		}
		return true
	}
}

func soundBreaker(s breaker.State) bool {
	switch s.Mode {
	case breaker.Open:
		return s.OpenUntil >= s.Last && s.Total == 0 && s.OpenFor >= 0
	case breaker.HalfOpen:
		return s.Total < 3 && s.Failed <= s.Total && s.Slow <= s.Total && (s.Probed || s.ProbesOut == 0 && s.Total == 0) && s.Last >= s.Origin
	case breaker.Closed, breaker.MetricsOnly:
		return (s.Failed <= s.Total || s.Total == 0 && s.Slow == 0) && s.Slow <= s.Total && s.Last >= s.Origin
	}
	return s.Mode <= breaker.MetricsOnly
}

func soundBulkhead(s bulkhead.State) bool {
	return s.Queue.Check() == nil && s.Held <= bulkhead.MaxConcurrent && (s.Held == 0 || s.Serial > 0)
}

func soundShared(s bulkhead.SharedState) bool {
	held, id := uint32(0), int64(-1)
	for _, h := range s.Members {
		if int64(h.ID) <= id || h.Held == 0 || h.Epoch == 0 || h.Until < s.Last {
			return false
		}
		held, id = held+h.Held, int64(h.ID)
	}
	return held == s.Held
}

func soundBudget(s budget.State) bool { return s.Origin <= s.Last && (s.Begun || s == budget.State{}) }

func soundHedge(s hedge.State) bool { return soundBudget(s.Budget) }

func oneForm[S any](t *testing.T, name string, m reducer.Cell[S], sound func(S) bool) {
	t.Run(name, func(t *testing.T) {
		seed := testenv.Seed()
		damaged := 0
		for n := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, n))
			s, now := reducer.ValuesOf(m).Init(0), clock.Mark(0)
			for range 5 + 3*n {
				now = now.Add(time.Duration(r.IntN(5)))
				s = anything(m, s, r, now)
			}
			src := m.Encode(nil, &s)
			for i, other := range [...]S{reducer.ValuesOf(m).Clone(s), reducer.ValuesOf(m).Shift(s, 3)} {
				for range 8 {
					m.Step(&other, some(r, now), now, new(reducer.Out))
				}
				if again := m.Encode(nil, &s); !bytes.Equal(again, src) {
					t.Fatalf("seed %d: steps of %s changed %x to %x", seed, [...]string{"a clone", "a shifted state"}[i], src, again)
				}
			}
			for i := range src {
				for k := range 14 {
					bad := bytes.Clone(src)
					switch {
					case k < 8:
						bad[i] ^= 1 << k
					case k < 10:
						bad[i] += byte(2*k - 17)
					default:
						bad[i] = [...]byte{0, 1, 127, 255}[k-10]
					}
					if bytes.Equal(bad, src) {
						continue
					}
					got, err := reducer.ValuesOf(m).DecodeState(bad)
					if err != nil {
						if !errors.Is(err, reducer.ErrEncoding) {
							t.Fatalf("seed %d: %x: %v", seed, bad, err)
						}
						continue
					}
					damaged++
					if again := m.Encode(nil, &got); !bytes.Equal(again, bad) {
						t.Fatalf("seed %d: %x is read and written as %x (%s)", seed, bad, again, m.AppendText(nil, &got, now))
					}
					if err := m.Check(&got); err != nil || !sound(got) {
						t.Fatalf("seed %d: %x is read as %+v: %v", seed, bad, got, err)
					}
					if k == 0 {
						anything(m, got, r, now.Add(time.Duration(r.IntN(5))))
					}
				}
			}
			for i := range src {
				if _, err := reducer.ValuesOf(m).DecodeState(src[:i]); !errors.Is(err, reducer.ErrEncoding) {
					t.Fatalf("seed %d: %d bytes of %x: %v", seed, i, src, err)
				}
			}
			if _, err := reducer.ValuesOf(m).DecodeState(append(src, 0)); !errors.Is(err, reducer.ErrEncoding) {
				t.Fatalf("seed %d: a byte behind %x: %v", seed, src, err)
			}
		}
		if damaged < 100 {
			t.Errorf("only %d damaged states are read", damaged)
		}
	})
}

// anything steps a state by an action, and mostly releases the permit that it got.
func anything[S any](m reducer.Cell[S], s S, r *rand.Rand, now clock.Mark) S {
	next, effects := reducer.ValuesOf(m).Reduce(s, some(r, now), now)
	if effects.Answer.Verdict == reducer.Admit && r.IntN(2) == 0 {
		kind := [...]reducer.Kind{reducer.Record, reducer.Release, reducer.Cancel}[r.IntN(3)]
		next, _ = reducer.ValuesOf(m).Reduce(next, reducer.Action{Kind: kind, Cost: 1, Outcome: reducer.Fail, Permit: effects.Answer.Permit}, now)
	}
	return next
}

// some is an action of any mechanism. Its permit and ticket are among the first that
// a state gives.
func some(r *rand.Rand, now clock.Mark) reducer.Action {
	kinds := [...]reducer.Kind{
		reducer.Acquire, reducer.Acquire, reducer.Acquire, reducer.Acquire, reducer.TryAcquire, reducer.Record, reducer.Record, reducer.Observe,
		reducer.Tick, reducer.Serve, reducer.Release, reducer.Cancel, reducer.Settle, reducer.Leave, reducer.Renew,
	}
	return reducer.Action{
		Kind: kinds[r.IntN(len(kinds))], Cost: 1 + r.Uint32N(2), Outcome: reducer.Outcome(1 + r.IntN(3)), Value: r.Uint64N(5),
		Permit: reducer.Permit{Generation: 1 + r.Uint64N(4), ID: 1 + r.Uint64N(4), Mark: now},
	}
}
