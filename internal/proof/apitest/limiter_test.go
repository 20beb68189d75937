package apitest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

var algorithms = []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter}

func limited(t testing.TB, c limiter.Config, options ...sluice.Option) *sluice.Limiter {
	t.Helper()
	l, err := sluice.NewLimiter(c, options...)
	require.NoError(t, err)
	return l
}

func eachAlgorithm(t *testing.T, f func(t *testing.T, c limiter.Config)) {
	for _, a := range algorithms {
		t.Run(fmt.Sprint(a), func(t *testing.T) {
			bubble(t, func(t *testing.T) { f(t, limiter.Config{Algorithm: a, Count: 4, Period: 4 * time.Second}) })
		})
	}
}

func TestLimiterAlone(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c limiter.Config) {
		l := limited(t, c)
		free, after := l.Peek(4)
		assert.EqualValues(t, 4, free)
		assert.Zero(t, after)
		assert.True(t, l.Allow())
		assert.True(t, l.AllowN(3))
		assert.True(t, l.AllowN(0))
		assert.False(t, l.Allow())
		assert.False(t, l.AllowN(5))
		free, after = l.Peek(1)
		assert.Zero(t, free)
		assert.Positive(t, after)
		time.Sleep(after - 1)
		assert.False(t, l.Allow(), "one nanosecond before")
		time.Sleep(time.Nanosecond)
		assert.True(t, l.Allow(), "what Peek says is exact")
		_, after = l.Peek(5)
		assert.Negative(t, after, "never")
		time.Sleep(time.Minute)
		l.Drain()
		assert.False(t, l.Allow())
	})
}

func TestLimiterWaits(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c limiter.Config) {
		l := limited(t, c)
		began := time.Now()
		var all sync.WaitGroup
		var ended [12]time.Duration
		for i := range ended {
			all.Go(func() {
				assert.NoError(t, l.Wait(t.Context()))
				ended[i] = time.Since(began)
			})
			synctest.Wait()
		}
		all.Wait()
		assert.IsNonDecreasing(t, ended[:])
		assert.Zero(t, ended[3])
		assert.Positive(t, ended[4])
		assert.GreaterOrEqual(t, ended[11], 7*time.Second)

		var rejected *sluice.RejectedError
		require.ErrorAs(t, l.WaitN(t.Context(), 5), &rejected)
		assert.Equal(t, reducer.ReasonCapacity, rejected.Reason)
		require.NoError(t, l.WaitN(t.Context(), 0))
	})
}

func TestLimiterWaitHonoursContexts(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c limiter.Config) {
		l := limited(t, c)
		require.True(t, l.AllowN(4))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		first := make(chan error)
		go func() { first <- l.WaitN(ctx, 4) }()
		synctest.Wait()
		second := make(chan error)
		go func() { second <- l.Wait(t.Context()) }()
		synctest.Wait()
		assert.False(t, l.Allow(), "no caller overtakes a waiter")
		_, after := l.Peek(1)
		assert.Equal(t, context.Canceled, <-first)
		_, moved := l.Peek(1)
		assert.Less(t, moved, after, "the waiters behind move up")
		require.NoError(t, <-second)
		assert.Equal(t, context.Canceled, l.Wait(ctx))
	})
}

// TestLimiterWaitRefusesHopelessContexts has callers whose deadline is before their
// turn or at the same mark: they are refused at once and take nothing.
func TestLimiterWaitRefusesHopelessContexts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, rate(1, time.Second))
		require.True(t, l.Allow())
		began := time.Now()
		for _, after := range []time.Duration{time.Millisecond, time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			var rejected *sluice.RejectedError
			require.ErrorAs(t, l.Wait(ctx), &rejected)
			assert.Equal(t, sluice.RejectedError{Step: "limit", Reason: sluice.ReasonDeadline, RetryAfter: time.Second - after + 1}, *rejected)
			cancel()
		}
		assert.Zero(t, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+1)
		defer cancel()
		require.NoError(t, l.Wait(ctx))
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestLimiterWaitIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, limiter.Config{Count: 1, Period: time.Second, Wait: 2 * time.Second, Queue: 1})
		require.NoError(t, l.Wait(t.Context()))
		go func() { _ = l.Wait(t.Context()) }()
		synctest.Wait()
		var rejected *sluice.RejectedError
		require.ErrorAs(t, l.Wait(t.Context()), &rejected)
		assert.Equal(t, reducer.ReasonFull, rejected.Reason)
		time.Sleep(time.Second)
		_, err := sluice.NewLimiter(limiter.Config{Count: 1})
		require.Error(t, err)
	})
}

func TestReserve(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, rate(2, 2*time.Second))
		r, err := l.Reserve(2, 0)
		require.NoError(t, err)
		assert.Zero(t, r.Delay())
		later, err := l.Reserve(2, 5*time.Second)
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, later.Delay())
		_, err = l.Reserve(2, 3*time.Second)
		require.ErrorIs(t, err, sluice.ErrRejected)
		same := later
		later.Cancel()
		later.Cancel()
		same.Cancel()
		assert.Zero(t, later.Delay())
		assert.Zero(t, same.Delay())
		again, err := l.Reserve(2, 3*time.Second)
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, again.Delay())
		time.Sleep(3 * time.Second)
		assert.Zero(t, again.Delay())
		var none sluice.Reservation
		none.Cancel()
		assert.Zero(t, none.Delay())

		window := limited(t, limiter.Config{Algorithm: limiter.FixedWindow, Count: 2, Period: time.Minute})
		r, err = window.Reserve(2, time.Hour)
		require.NoError(t, err)
		assert.False(t, window.Allow())
		r.Cancel()
		assert.False(t, window.Allow(), "the permits could be used at once")
		_, err = window.Reserve(1, time.Hour)
		require.ErrorIs(t, err, sluice.ErrRejected)
	})
}

func TestLimiterConfigure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, rate(10, 10*time.Second))
		require.True(t, l.AllowN(4))
		require.Error(t, l.Configure(rate(0, time.Second)))
		for _, a := range []limiter.Algorithm{limiter.FixedWindow, limiter.SlidingCounter, limiter.TokenBucket, limiter.TokenBucket} {
			require.NoError(t, l.Configure(limiter.Config{Algorithm: a, Count: 8, Period: 10 * time.Second}))
			free, _ := l.Peek(1)
			assert.EqualValues(t, 6, free)
		}
		require.NoError(t, l.Configure(rate(2, 10*time.Second)))
		assert.False(t, l.AllowN(3))
		assert.True(t, l.AllowN(2))
		waited := make(chan error)
		go func() { waited <- l.WaitN(t.Context(), 2) }()
		synctest.Wait()
		require.NoError(t, l.Configure(rate(1, 10*time.Second)))
		require.ErrorIs(t, <-waited, sluice.ErrRejected)
	})
}

// TestLimiterNeverAdmitsMore has many goroutines ask in every way while the
// state moves between its word and its locked cell, and counts the permits: L1.
func TestLimiterNeverAdmitsMore(t *testing.T) {
	const burst, workers = 50, 8
	var source clock.Virtual
	l := limited(t, limiter.Config{Count: 1, Period: time.Millisecond, Burst: burst}, sluice.WithClock(&source))
	var had atomic.Int64
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(5, uint64(i)))
			for range 5_000 {
				n := 1 + rng.Uint32N(3)
				got := false
				switch rng.IntN(20) {
				case 0:
					ctx, cancel := context.WithCancel(context.Background())
					time.AfterFunc(0, cancel)
					got = l.WaitN(ctx, n) == nil
				case 1:
					l.Peek(n)
				case 2:
					assert.NoError(t, l.Configure(limiter.Config{Count: 1, Period: time.Millisecond, Burst: burst}))
				case 3:
					source.Advance(time.Millisecond)
				default:
					got = l.AllowN(n)
				}
				if got {
					had.Add(int64(n))
				}
			}
		})
	}
	all.Wait()
	passed := int64(source.Now()) / int64(time.Millisecond)
	assert.LessOrEqual(t, had.Load(), burst+passed)
	assert.GreaterOrEqual(t, had.Load(), passed/2, "and it does admit")
}

// TestReservationIsSpentAtItsTurn acts at the turn of each reservation and cancels it then: a
// cancel from the turn on returns nothing, so that no more acts pass than permits come.
func TestReservationIsSpentAtItsTurn(t *testing.T) {
	for _, a := range []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow, limiter.SlidingCounter, limiter.SlidingLog, limiter.LeakyBucket} {
		t.Run(a.String(), func(t *testing.T) {
			for _, wait := range []time.Duration{0, 3 * time.Second} {
				var source clock.Virtual
				l := limited(t, limiter.Config{Algorithm: a, Count: 1, Period: time.Second}, sluice.WithClock(&source))
				keyed := perKey(t, limiter.Config{Algorithm: a, Count: 1, Period: time.Second}, sluice.WithClock(&source))
				for name, reserve := range map[string]func() (sluice.Reservation, error){
					"alone": func() (sluice.Reservation, error) { return l.Reserve(1, wait) },
					"keyed": func() (sluice.Reservation, error) { return keyed.Reserve("a", 1, wait) },
				} {
					began, acts := source.Now(), 0
					for source.Now() < began.Add(10*time.Second) {
						if r, err := reserve(); err == nil {
							source.Advance(r.Delay())
							acts++
							r.Cancel()
						}
						source.Advance(time.Millisecond)
					}
					assert.LessOrEqual(t, acts, 11, "%s: acts in 10 s and some milliseconds", name)
					assert.Greater(t, acts, 4, name)
				}
			}
		})
	}
}

// TestReservationsNeverMint reserves, cancels and asks from many goroutines.
func TestReservationsNeverMint(t *testing.T) {
	const burst, workers = 20, 6
	var source clock.Virtual
	l := limited(t, limiter.Config{Count: 1, Period: time.Millisecond, Burst: burst}, sluice.WithClock(&source))
	var had atomic.Int64
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(6, uint64(i)))
			for range 2_000 {
				n := 1 + rng.Uint32N(3)
				r, err := l.Reserve(n, time.Duration(rng.IntN(3))*time.Millisecond)
				switch {
				case err != nil:
				case rng.IntN(3) == 0 && r.Delay() > 0:
					r.Cancel()
				default:
					had.Add(int64(n))
				}
				if rng.IntN(50) == 0 {
					source.Advance(time.Millisecond)
				}
				if l.Allow() {
					had.Add(1)
				}
			}
		})
	}
	all.Wait()
	// What is reserved may be used at most 2 ms later.
	assert.LessOrEqual(t, had.Load(), int64(burst)+int64(source.Now())/int64(time.Millisecond)+2)
}

// TestReservationIsCancelledOnce cancels copies of a reservation at once, while
// nothing else would show that permits were returned twice.
func TestReservationIsCancelledOnce(t *testing.T) {
	var source clock.Virtual
	l := limited(t, rate(8, 8*time.Hour), sluice.WithClock(&source))
	require.True(t, l.AllowN(8))
	_, err := l.Reserve(3, 3*time.Hour)
	require.NoError(t, err)
	r, err := l.Reserve(2, 5*time.Hour)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		copied := r
		all.Go(copied.Cancel)
	}
	all.Wait()
	source.Advance(8 * time.Hour)
	free, _ := l.Peek(1)
	assert.EqualValues(t, 5, free)
}

// A limiter alone has no cost of its own and settles nothing: its calls name their costs,
// and have no end.
func TestLimiterAloneSettlesNothing(t *testing.T) {
	plain := limiter.Config{Count: 5, Period: time.Second}
	for want, change := range map[string]func(*limiter.Config){
		"cost: found 2; allowed in a pipeline alone":   func(c *limiter.Config) { c.Cost.Permits = 2 },
		"charge: found 1; allowed in a pipeline alone": func(c *limiter.Config) { c.Charge = limiter.ChargeSettle },
		"counts: found 2; allowed in a pipeline alone": func(c *limiter.Config) { c.Counts = limiter.OutcomesOf(reducer.Fail) },
	} {
		c := plain
		change(&c)
		_, err := sluice.NewLimiter(c)
		require.ErrorContains(t, err, want)
		_, err = sluice.NewKeyedLimiter(c)
		require.ErrorContains(t, err, want)
		l, err := sluice.NewLimiter(plain)
		require.NoError(t, err)
		require.ErrorContains(t, l.Configure(c), want)
	}
}

// TestLimiterAtAnEarlierMark: the word of a token bucket has no last mark, so it is stricter
// than a policy, for which an earlier mark counts as the last one.
func TestLimiterAtAnEarlierMark(t *testing.T) {
	marks := new(marks)
	l := must(sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Second, Burst: 2}, sluice.WithClock(marks)))
	p := must(sluice.New(sluice.PolicyOf("p", sluice.LimiterConfig{Count: 1, Period: time.Second, Burst: 2}), sluice.WithClock(marks)))
	both := func(at time.Duration) (alone, policy bool) {
		marks.at = clock.Mark(at)
		return l.Allow(), sluice.Run(t.Context(), p, good) == nil
	}
	alone, policy := both(10 * time.Second)
	assert.True(t, alone && policy)
	alone, policy = both(0)
	assert.False(t, alone)
	assert.True(t, policy)
	for range 10 {
		alone, policy = both(0)
		assert.False(t, alone || policy, "no mark mints permits")
	}
}

// marks is a clock that is set, also back.
type marks struct{ at clock.Mark }

func (m *marks) Now() clock.Mark { return m.at }
