package cell_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/adaptive"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// small is the room for a state in a place of 128 bytes.
const small = 104

// No history makes a state longer than MaxSize, and some come near it. What is left is
// room for numbers that take years to grow: of generations, grants and openings.
func TestMaxSize(t *testing.T) {
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	limit := func(a limiter.Algorithm, count uint32, wait time.Duration) func() (cell.Maker, error) {
		return func() (cell.Maker, error) {
			return limiter.Cells(limiter.Config{Algorithm: a, Count: count, Period: seconds(60), Wait: wait}.WithDefaults())
		}
	}
	breaks := func(c breaker.Config) func() (cell.Maker, error) {
		return func() (cell.Maker, error) { return breaker.Cells(c.WithDefaults()) }
	}
	slow := breaker.Config{SlowOver: seconds(1), SlowRate: reducer.Percent(100)}
	timed, slowTimed := breaker.Config{Window: breaker.Time, Span: seconds(60)}, slow
	slowTimed.Window, slowTimed.Span = timed.Window, timed.Span
	for _, c := range []struct {
		name string
		make func() (cell.Maker, error)
		want int
		// grows is the room for numbers.
		grows int
		unit  time.Duration // of the times of the history
	}{
		{"token bucket", limit(limiter.TokenBucket, 1_000, 0), 41, 8, seconds(1)},
		{"token bucket with a queue", limit(limiter.TokenBucket, 1_000, seconds(1)), 51, 17, seconds(1)},
		{"fixed window", limit(limiter.FixedWindow, 1_000, 0), 49, 8, seconds(1)},
		{"sliding counter", limit(limiter.SlidingCounter, 1_000, 0), 51, 8, seconds(1)},
		{"sliding log of 10", limit(limiter.SlidingLog, 10, 0), 104, 30, seconds(3)},
		{"leaky bucket", limit(limiter.LeakyBucket, 1_000, 0), 41, 8, seconds(1)},
		{"breaker", breaks(breaker.Config{}), 100, 18, seconds(60)},
		{"breaker with a slow rule", breaks(slow), 100, 18, seconds(60)},
		{"breaker of 250 calls", breaks(breaker.Config{Count: 250}), 100, 18, seconds(60)},
		{"breaker with a longest half-open stay", breaks(breaker.Config{HalfOpenMax: seconds(60)}), 118, 72, seconds(60)},
		{"breaker of time", breaks(timed), 144, 65, seconds(60)},
		{"breaker of time with a slow rule", breaks(slowTimed), 184, 106, seconds(60)},
		{"breaker of failures in a row", breaks(breaker.Config{Window: breaker.Consecutive, Count: 5}), 100, 18, seconds(60)},
		{"breaker that forgets", breaks(breaker.Config{Window: breaker.Consecutive, Count: 5, Forget: seconds(60)}), 100, 18, seconds(60)},
		{"bulkhead of 4 with leases", func() (cell.Maker, error) {
			return bulkhead.Cells(bulkhead.Config{Concurrent: 4, Lease: seconds(10)})
		}, 134, 67, seconds(10)},
		{"shared bulkhead of 4 members", func() (cell.Maker, error) {
			return bulkhead.SharedCells(bulkhead.SharedConfig{Concurrent: 100, Lease: seconds(10), Members: 4})
		}, 85, 22, seconds(10)},
		{"adaptive limit of 4 places", func() (cell.Maker, error) {
			return adaptive.Cells(adaptive.Config{Maximum: 4}.WithDefaults())
		}, 213, 160, seconds(10)},
		{"budget", func() (cell.Maker, error) {
			m, err := budget.New(budget.Config{Ratio: reducer.Percent(100), Window: seconds(10)})
			return m.Cells(), err
		}, 125, 84, seconds(1)},
		{"token-bucket budget", func() (cell.Maker, error) {
			m, err := budget.New(budget.Config{Rule: budget.Tokens, Tokens: budget.MaxTokens, Retry: budget.MaxTokens, Timeout: 1, Refund: 1})
			return m.Cells(), err
		}, 11, 0, seconds(1)},
		{"hedge with a budget", func() (cell.Maker, error) {
			m, err := hedge.New(hedge.Config{Percentile: reducer.Percent(50), Samples: 5, Minimum: 2, Budgeted: true,
				Budget: budget.Config{Ratio: reducer.Percent(100), Window: seconds(10)}})
			return m.Cells(), err
		}, 189, 84, seconds(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.make()
			if err != nil {
				t.Fatal(err)
			}
			if got := m.MaxSize(); got != c.want {
				t.Errorf("at most %d bytes, want %d", got, c.want)
			}
			longest := 0
			for n := range uint64(60) {
				longest = max(longest, longestState(m, rand.New(rand.NewPCG(testenv.Seed(), n)), c.unit))
			}
			t.Logf("the longest of at most %d bytes has %d", c.want, longest)
			if longest > c.want || longest < c.want-c.grows {
				t.Errorf("seed %d: the longest state has %d bytes of at most %d", testenv.Seed(), longest, c.want)
			}
		})
	}
}

// A breaker and a limiter with the defaults of a document fit into a place of 128
// bytes.
func TestDefaultsAreSmall(t *testing.T) {
	for a := range limiter.Algorithms {
		if a == limiter.SlidingLog {
			continue
		}
		for _, wait := range []time.Duration{0, time.Minute} {
			c := limiter.Config{Algorithm: a, Count: limiter.MaxCount, Period: 24 * time.Hour, Wait: wait}.WithDefaults()
			if n := must(limiter.New(c)).MaxSize(); n > small {
				t.Errorf("%v: %d bytes", a, n)
			}
		}
	}
	if n := must(breaker.New(breaker.Config{}.WithDefaults())).MaxSize(); n > small {
		t.Errorf("breaker: %d bytes", n)
	}
}

// longestState returns the length of the longest state of a random history, while no
// caller waits. Times are up to a few units, now and then weeks.
func longestState(m cell.Maker, r *rand.Rand, unit time.Duration) (longest int) {
	now := clock.Mark(1)<<61 + clock.Mark(r.Int64N(1<<60))
	c := m.New(now)
	var held []reducer.Permit
	var out reducer.Out
	evenly := 0 // acquires that follow, the first ones slowly
	for range 600 {
		a := reducer.Action{Kind: reducer.TryAcquire, Cost: 1, Permit: reducer.Permit{ID: (1+r.Uint64N(4))<<30 - 1}}
		switch {
		case evenly > 0:
			evenly--
			now = now.Add(unit / 80)
			if evenly > 8 {
				now = now.Add(unit * 43 / 150)
			}
		case r.IntN(40) == 0:
			evenly = 12
		default:
			now = now.Add([...]time.Duration{0, 1, time.Duration(r.Int64N(int64(unit))) / 20, time.Duration(r.Int64N(2 * int64(unit)))}[r.IntN(4)])
			if r.IntN(100) == 0 {
				now = now.Add(10 * 24 * time.Hour)
			}
			a = someEnd(r, a, &held)
		}
		out = out[:0]
		answer := c.Step(a, now, &out)
		switch {
		case answer.Verdict == reducer.Wait:
			c.Step(reducer.Action{Kind: reducer.Leave, Permit: reducer.Permit{ID: answer.ID}}, now, &out)
		case answer.Verdict == reducer.Admit && len(held) < 100:
			held = append(held, answer.Permit)
		}
		longest = max(longest, len(c.AppendState(nil)))
	}
	return longest
}

// someEnd is mostly the end of a permit that is held, else a given acquire or what
// happens now and then.
func someEnd(r *rand.Rand, acquire reducer.Action, held *[]reducer.Permit) reducer.Action {
	switch n := r.IntN(40); {
	case n == 0:
		return reducer.Action{Kind: reducer.Transition, Cost: r.Uint32N(3)}
	case n == 1:
		return reducer.Action{Kind: [...]reducer.Kind{reducer.Reset, reducer.Drain, reducer.Tick}[r.IntN(3)]}
	case n < 6:
		return reducer.Action{Kind: reducer.Observe, Value: r.Uint64()}
	case n < 10:
		acquire.Kind = reducer.Acquire
		return acquire
	case n < 12 || len(*held) == 0:
		return reducer.Action{Kind: reducer.Record, Outcome: reducer.OK}
	case n < 20:
		return acquire
	}
	i := r.IntN(len(*held))
	p := (*held)[i]
	a := reducer.Action{Outcome: reducer.Outcome(1 + r.IntN(3)), Cost: 1, Permit: p,
		Kind: [...]reducer.Kind{reducer.Record, reducer.Record, reducer.Release, reducer.Cancel, reducer.Settle, reducer.Renew}[r.IntN(6)]}
	switch a.Kind {
	case reducer.Settle:
		a.Value = r.Uint64N(3_000)
	case reducer.Renew:
		return a
	}
	*held = append((*held)[:i], (*held)[i+1:]...)
	return a
}
