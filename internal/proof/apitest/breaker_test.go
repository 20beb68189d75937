package apitest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

func broken(t testing.TB, c breaker.Config, options ...sluice.Option) *sluice.Breaker {
	t.Helper()
	b, err := sluice.NewBreaker(c, options...)
	require.NoError(t, err)
	return b
}

func good(context.Context) error { return nil }

func bad(context.Context) error { return errBoom }

func TestBreakerAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breakerConfig())
		var changes []string
		stop := b.Listen(func(e sluice.Event) {
			changes = append(changes, e.Mode.String())
			assert.Equal(t, e.Mode, b.Mode(), "a listener may call back")
		}, sluice.EventChange)
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		require.NoError(t, b.Do(t.Context(), good))
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		time.Sleep(10 * time.Second)
		err := b.Do(t.Context(), good)
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, sluice.RejectedError{Step: "breaker", Reason: reducer.ReasonOpen, RetryAfter: 50 * time.Second}, *rejected)
		assert.EqualError(t, err, "sluice: breaker: rejected: open, retry after 50s")
		time.Sleep(50 * time.Second)
		require.NoError(t, b.Do(t.Context(), good))
		assert.Equal(t, []string{"open", "half-open", "closed"}, changes)
		stop()

		b.Transition(breaker.Open)
		assert.Equal(t, breaker.Open, b.Mode())
		b.Reset()
		assert.Equal(t, breaker.Closed, b.Mode())
		b.Transition(breaker.ForcedOpen)
		time.Sleep(time.Hour)
		require.ErrorAs(t, b.Do(t.Context(), good), &rejected)
		assert.Negative(t, rejected.RetryAfter)
		assert.Len(t, changes, 3)
	})
}

func TestPass(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breakerConfig())
		old, err := b.Acquire()
		require.NoError(t, err)
		require.Error(t, b.Do(t.Context(), bad))
		require.Error(t, b.Do(t.Context(), bad))
		time.Sleep(time.Minute)
		probe, err := b.Acquire()
		require.NoError(t, err)
		old.Done(reducer.OK)
		assert.Equal(t, breaker.HalfOpen, b.Mode(), "a pass issued before the change does not count")
		_, err = b.Acquire()
		require.ErrorIs(t, err, sluice.ErrRejected)
		_, got := b.TryAcquire()
		assert.False(t, got)
		probe.Done(reducer.Ignore)
		probe.Done(reducer.OK)
		assert.Equal(t, breaker.HalfOpen, b.Mode(), "once")
		probe, got = b.TryAcquire()
		require.True(t, got)
		probe.Done(reducer.OK)
		assert.Equal(t, breaker.Closed, b.Mode())
		new(sluice.Pass).Done(reducer.Fail)
	})
}

// TestPassVotesOnce ends a pass three times where two failures would open the
// breaker.
func TestPassVotesOnce(t *testing.T) {
	b := broken(t, breakerConfig())
	pass, err := b.Acquire()
	require.NoError(t, err)
	for range 3 {
		pass.Done(reducer.Fail)
	}
	assert.Equal(t, breaker.Closed, b.Mode())
	require.Error(t, b.Do(t.Context(), bad))
	assert.Equal(t, breaker.Open, b.Mode())
}

// TestTransitionToThePresentMode has a listener call Transition with the mode of its event.
func TestTransitionToThePresentMode(t *testing.T) {
	b := broken(t, breakerConfig())
	var modes []breaker.Mode
	b.Listen(func(e sluice.Event) {
		modes = append(modes, e.Mode)
		b.Transition(breaker.Closed)
		b.Reset()
	}, sluice.EventChange)
	b.Transition(breaker.Open)
	b.Transition(breaker.Closed)
	b.Reset()
	assert.Equal(t, []breaker.Mode{breaker.Open, breaker.Closed}, modes)
}

func TestDoLooksAtTheContextFirst(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	runs := func(context.Context) error { t.Error("fn runs"); return nil }
	retrier, err := sluice.NewRetry(retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.None}})
	require.NoError(t, err)
	for name, do := range map[string]func() error{
		"breaker":  func() error { return broken(t, breakerConfig()).Do(ctx, runs) },
		"bulkhead": func() error { return walled(t, places(1, 0)).Do(ctx, runs) },
		"limiter":  func() error { return limited(t, rate(1, time.Second)).Wait(ctx) },
		"retry": func() error {
			_, err := sluice.Retry(ctx, retrier, func(ctx context.Context) (int, error) { return 0, runs(ctx) })
			return err
		},
		"pipeline": func() error {
			_, err := sluice.Do(ctx, guarded(t, []string{"timeout: 1s"}), func(ctx context.Context) (int, error) { return 0, runs(ctx) })
			return err
		},
		"begin": func() error {
			_, err := guarded(t, []string{"timeout: 1s"}).Begin(ctx, sluice.Request{})
			return err
		},
	} {
		err := do()
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, errBoom, name)
		assert.Equal(t, "context canceled: boom", err.Error(), name)
	}
}

func TestCancelledDoDoesNotVote(t *testing.T) {
	b := broken(t, breakerConfig())
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		require.Error(t, b.Do(ctx, func(context.Context) error { cancel(); return errBoom }))
		require.Error(t, b.Do(t.Context(), func(context.Context) error { return sluice.Ignore(errBoom) }))
	}
	assert.Equal(t, breaker.Closed, b.Mode())
}

func TestBreakerConfigure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breakerConfig())
		require.Error(t, b.Configure(breaker.Config{Probes: breaker.MaxProbes + 1}))
		require.Error(t, b.Do(t.Context(), bad))
		require.Error(t, b.Do(t.Context(), bad))
		c := breakerConfig()
		c.Open.Base, c.Count = time.Hour, 1
		require.NoError(t, b.Configure(c))
		time.Sleep(time.Minute)
		assert.Equal(t, breaker.HalfOpen, b.Mode(), "the deadline stays")
		require.Error(t, b.Do(t.Context(), bad))
		time.Sleep(time.Minute)
		assert.Equal(t, breaker.Open, b.Mode(), "the next open time is the new one")
	})
}

// TestBreakerConfiguredForTime configures a sliding window for a breaker that has not
// read the clock so far.
func TestBreakerConfiguredForTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breakerConfig())
		require.NoError(t, b.Do(t.Context(), good))
		timed := breaker.Config{Window: breaker.Time, Count: 10, Span: 10 * time.Second, Minimum: 2, FailureRate: reducer.Percent(50), Probes: 1,
			Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}}
		require.NoError(t, b.Configure(timed))
		require.Error(t, b.Do(t.Context(), bad))
		time.Sleep(time.Minute)
		require.Error(t, b.Do(t.Context(), bad))
		assert.Equal(t, breaker.Closed, b.Mode(), "the first has left the window")
		require.Error(t, b.Do(t.Context(), bad))
		assert.Equal(t, breaker.Open, b.Mode())
	})
}

// counting is a source that counts how often it is read.
type counting struct {
	clock.Virtual
	reads atomic.Int64
}

func (c *counting) Now() clock.Mark {
	c.reads.Add(1)
	return c.Virtual.Now()
}

func TestBreakerReadsNoClockWhereItNeedsNone(t *testing.T) {
	var source counting
	b := broken(t, breakerConfig(), sluice.WithClock(&source))
	require.NoError(t, b.Do(t.Context(), good)) // time begins
	before := source.reads.Load()
	for range 1_000 {
		require.NoError(t, b.Do(t.Context(), good))
	}
	assert.Equal(t, before, source.reads.Load())
	require.Error(t, b.Do(t.Context(), bad))
	assert.Equal(t, before+1, source.reads.Load(), "a failure may open it")
	require.Error(t, b.Do(t.Context(), bad))
	before = source.reads.Load()
	require.Error(t, b.Do(t.Context(), good))
	assert.Equal(t, before+1, source.reads.Load(), "open ends by time")
}

// TestBreakerUnderLoad has many goroutines fail and succeed: the breaker lets
// no more probes out than it may.
func TestBreakerUnderLoad(t *testing.T) {
	c := breakerConfig()
	c.Count, c.Probes = 5, 3
	var source clock.Virtual
	b := broken(t, c, sluice.WithClock(&source))
	b.Transition(breaker.HalfOpen)
	var out atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := b.Acquire(); err == nil {
				out.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 3, out.Load())
}

// TestBreakerStartsAndObeys: a breaker starts in its initial mode, an answer opens it for
// the time that it says, and a ramp admits a share of the calls.
func TestBreakerStartsAndObeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := sluice.NewBreaker(sluice.BreakerConfig{
			Initial: breaker.HalfOpen, Probes: 1, ObeyRetryAfter: time.Minute, RampOver: 10 * time.Second, RampFrom: sluice.Percent(50),
		})
		require.NoError(t, err)
		assert.Equal(t, breaker.HalfOpen, b.Mode())
		slow := sluice.Throttle(errors.New("later"), time.Hour)
		require.ErrorIs(t, b.Do(t.Context(), func(context.Context) error { return slow }), slow)
		var refused *sluice.RejectedError
		_, err = b.Acquire()
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, time.Minute, refused.RetryAfter)
		time.Sleep(time.Minute)
		require.NoError(t, b.Do(t.Context(), func(context.Context) error { return nil }))
		for _, want := range []bool{false, true, false, true} {
			pass, ok := b.TryAcquire()
			assert.Equal(t, want, ok)
			pass.Done(reducer.OK)
		}
		_, err = b.Acquire()
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, reducer.ReasonProbes, refused.Reason)
		time.Sleep(10 * time.Second)
		pass, ok := b.TryAcquire()
		require.True(t, ok)
		pass.DoneRetryAfter(reducer.Fail, 5*time.Second)
		_, err = b.Acquire()
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, 5*time.Second, refused.RetryAfter)
		b.Reset()
		assert.Equal(t, breaker.HalfOpen, b.Mode())
	})
}

// TestBreakerReportsAllErrors: every wrong field of a configuration is reported.
func TestBreakerReportsAllErrors(t *testing.T) {
	_, err := sluice.NewBreaker(sluice.BreakerConfig{Probes: 2000, HalfOpenMax: -1, SlowConsecutive: 3})
	require.EqualError(t, err, "slow.over: found 0s; allowed more than 0 beside slow.rate and slow.consecutive\n"+
		"probes: found 2000; allowed 1 to 1000\n"+
		"half_open_max: found -1ns; allowed 0 or more")
}

// TestResetTellsWhatItForgets: a reset that changes no mode is told where it forgets outcomes.
func TestResetTellsWhatItForgets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		timed := broken(t, sluice.BreakerConfig{Window: breaker.Time, Span: time.Minute})
		told := sentencesOf(timed)
		require.NoError(t, timed.Do(t.Context(), up))
		timed.Reset()
		assert.Contains(t, told.take(), "breaker: by hand: reset")
		b := broken(t, breakerConfig())
		events := sentencesOf(b, sluice.EventChange, sluice.EventManual)
		b.Reset()
		assert.Empty(t, events.take(), "there is nothing to forget")
		_ = b.Do(t.Context(), func(context.Context) error { return errDown })
		b.Reset()
		assert.Equal(t, []string{"breaker: by hand: reset"}, events.take())
		b.Reset()
		assert.Empty(t, events.take())
		for range 2 {
			_ = b.Do(t.Context(), func(context.Context) error { return errDown })
		}
		b.Reset()
		assert.Len(t, events.take(), 2, "open and closed, and no event beside the change")
		again := false
		b.Listen(func(sluice.Event) { again = true; b.Reset() }, sluice.EventManual)
		_ = b.Do(t.Context(), func(context.Context) error { return errDown })
		b.Reset()
		assert.True(t, again, "a listener may reset it")
	})
}
