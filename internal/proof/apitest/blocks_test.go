package apitest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/limiter"
)

// rejection returns the refusal of an error.
func rejection(t testing.TB, err error) *sluice.RejectedError {
	t.Helper()
	var rejected *sluice.RejectedError
	require.ErrorAs(t, err, &rejected)
	return rejected
}

// TestFailedLogins blocks a user who fails too often, for longer each time, and no other
// user; an operator sees it and can end it.
func TestFailedLogins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"limit: {rate: 1/1m, burst: 3, per: key, charge: end, counts: [fail], block: {exponential: 1m, factor: 4, max: 24h}}",
		})
		wrong := errors.New("wrong password")
		login := func(user string, outcome error) error {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: user}, func(context.Context) (int, error) { return 0, outcome })
			return err
		}
		for range 3 {
			require.ErrorIs(t, login("ann", wrong), wrong)
		}
		r := rejection(t, login("ann", nil))
		assert.Equal(t, sluice.ReasonRate, r.Reason)
		assert.Equal(t, time.Minute, r.RetryAfter)
		time.Sleep(20 * time.Second)
		r = rejection(t, login("ann", nil))
		assert.Equal(t, sluice.ReasonBlocked, r.Reason)
		assert.Equal(t, 40*time.Second, r.RetryAfter, "a call during a block does not extend it")
		require.NoError(t, login("bob", nil))
		h := p.Step("limit")
		all, err := h.Blocked()
		require.NoError(t, err)
		assert.Equal(t, []sluice.BlockedKey{{Key: "ann", Values: []string{"ann"}, Left: 40 * time.Second}}, all)
		s, err := h.Key("ann").State()
		require.NoError(t, err)
		assert.Equal(t, 40*time.Second, s.Blocked)
		assert.Zero(t, s.Free)
		limits := p.Limits(sluice.Request{Key: "ann"}, nil)
		assert.Zero(t, limits[0].Free)
		assert.Equal(t, 40*time.Second, limits[0].Next)

		time.Sleep(40 * time.Second)
		require.ErrorIs(t, login("ann", wrong), wrong)
		assert.Equal(t, 4*time.Minute, rejection(t, login("ann", nil)).RetryAfter)
		require.NoError(t, h.Key("ann").Unblock())
		require.ErrorIs(t, h.Key("ann").Unblock(), sluice.ErrUnknownKey)
		assert.Equal(t, 16*time.Minute, rejection(t, login("ann", nil)).RetryAfter, "Unblock keeps the number of the block")
		require.NoError(t, h.Key("ann").Forgive())
		require.NoError(t, login("ann", nil))
		all, err = h.Blocked()
		require.NoError(t, err)
		assert.Empty(t, all)
		for range 3 {
			require.ErrorIs(t, login("ann", wrong), wrong)
		}
		assert.Equal(t, time.Minute, rejection(t, login("ann", nil)).RetryAfter)
	})
}

// TestBlockOfAStep is the block of a step without keys, which a snapshot keeps.
func TestBlockOfAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		steps := []string{"limit: {rate: 1/1s, block: 1m}"}
		p := guarded(t, steps)
		require.NoError(t, keyed(p, ""))
		assert.Equal(t, time.Minute, rejection(t, keyed(p, "")).RetryAfter)
		s, err := p.Step("limit").State()
		require.NoError(t, err)
		assert.Equal(t, time.Minute, s.Blocked)
		saved := p.Snapshot()
		other := guarded(t, steps)
		time.Sleep(time.Second)
		require.NoError(t, other.Restore(saved))
		r := rejection(t, keyed(other, ""))
		assert.Equal(t, sluice.ReasonBlocked, r.Reason)
		assert.LessOrEqual(t, r.RetryAfter, time.Minute)
		require.NoError(t, other.Step("limit").Reset())
		require.NoError(t, keyed(other, ""))
	})
}

// TestBlocksOfALimiterAlone checks the blocks of limiters without a pipeline.
func TestBlocksOfALimiterAlone(t *testing.T) {
	for a := range limiter.Algorithms {
		t.Run(a.String(), func(t *testing.T) {
			var source clock.Virtual
			c := limiter.Config{Algorithm: a, Count: 1, Period: time.Second, Block: limiter.Block{
				After: 2, For: backoff.Config{Kind: backoff.Linear, Base: time.Minute},
			}}
			l := limited(t, c, sluice.WithClock(&source))
			k := perKey(t, c, sluice.WithClock(&source))
			allow := []func() bool{l.Allow, func() bool { return k.Allow("a") }}
			for _, ask := range allow {
				assert.True(t, ask())
				assert.False(t, ask())
			}
			source.Advance(2 * time.Second)
			for _, ask := range allow {
				assert.True(t, ask(), "one refusal begins no block")
				assert.False(t, ask())
				assert.False(t, ask())
			}
			_, after := l.Peek(1)
			assert.Equal(t, time.Minute, after)
			_, after = k.Peek("a", 1)
			assert.Equal(t, time.Minute, after)
			r := rejection(t, l.Wait(t.Context()))
			assert.Equal(t, sluice.ReasonBlocked, r.Reason, "no caller waits")
			assert.Equal(t, time.Minute, r.RetryAfter)
			assert.Equal(t, 1, k.Len())
			source.Advance(time.Minute - 1)
			for _, ask := range allow {
				assert.False(t, ask())
			}
			source.Advance(1)
			for _, ask := range allow {
				assert.True(t, ask())
			}
			source.Advance(2 * time.Minute)
			assert.Zero(t, k.Len(), "the row is over")
		})
	}
}

// TestWarmUpOfALimiterAlone: at full load a limiter is as fast as its rate after the
// warm-up, with and without keys, and a caller waits as long as it is told.
func TestWarmUpOfALimiterAlone(t *testing.T) {
	c := limiter.Config{Count: 100, Period: time.Second, Burst: 2, WarmUp: limiter.WarmUp{Over: 10 * time.Second}}
	var source clock.Virtual
	l := limited(t, c, sluice.WithClock(&source))
	k := perKey(t, c, sluice.WithClock(&source))
	for second, want := range []int{37, 43, 50, 57, 63, 70, 77, 83, 90, 97, 100, 100} {
		passed := 0
		for range 1000 {
			one := l.Allow()
			assert.Equal(t, one, k.Allow("a"))
			if one {
				passed++
			}
			source.Advance(time.Millisecond)
		}
		assert.InDelta(t, want, passed, 3, "second %d", second)
	}
	source.Advance(11 * time.Second)
	assert.Zero(t, k.Len(), "a cold key is as a new one")
	assert.True(t, l.AllowN(2))
	_, after := l.Peek(1)
	assert.Greater(t, after, 29*time.Millisecond)
}

func TestWarmUpWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, limiter.Config{Count: 1, Period: time.Second, Burst: 1, WarmUp: limiter.WarmUp{Over: 9 * time.Second, Factor: 3}})
		began := time.Now()
		require.NoError(t, l.Wait(t.Context()))
		require.NoError(t, l.Wait(t.Context()))
		assert.Equal(t, 2_373_863_543*time.Nanosecond, time.Since(began))
		r, err := l.Reserve(1, time.Minute)
		require.NoError(t, err)
		assert.Equal(t, 4_116_843_970*time.Nanosecond-time.Since(began), r.Delay())
		r.Cancel()
		require.NoError(t, l.Configure(limiter.Config{Count: 1, Period: time.Second}))
		assert.False(t, l.Allow())
		time.Sleep(time.Second)
		assert.True(t, l.Allow())
	})
}

// TestBlocksRefused are the settings that are not allowed.
func TestBlocksRefused(t *testing.T) {
	minute := backoff.Config{Kind: backoff.Constant, Base: time.Minute}
	jittered := minute
	jittered.Jitter = backoff.Full
	for field, c := range map[string]limiter.Config{
		"block":           {Wait: time.Second, Queue: 1, Block: limiter.Block{For: minute}},
		"block.after":     {Block: limiter.Block{After: 1}},
		"block.for":       {Block: limiter.Block{For: jittered}},
		"warm_up":         {Algorithm: limiter.FixedWindow, WarmUp: limiter.WarmUp{Over: time.Second}},
		"warm_up.over":    {WarmUp: limiter.WarmUp{Over: 721 * time.Hour}},
		"warm_up.factor":  {WarmUp: limiter.WarmUp{Factor: 3}},
		"warm_up.factor ": {WarmUp: limiter.WarmUp{Over: time.Second, Factor: 1001}},
	} {
		c.Count, c.Period = 1, time.Second
		_, err := sluice.NewLimiter(c)
		require.Error(t, err, field)
		assert.Regexp(t, "^(sluice: )?"+strings.TrimSpace(field)+": ", err.Error())
	}
}

// TestHalfOfTheKeysOfAStepMayBeBlocked: above that the limit alone refuses, on the
// fast path of calls and beside it, and the step counts it.
func TestHalfOfTheKeysOfAStepMayBeBlocked(t *testing.T) {
	for name, ask := range map[string]func(p *sluice.Pipeline, key string) error{
		"Do": keyed,
		"Begin": func(p *sluice.Pipeline, key string) error {
			h, err := p.Begin(t.Context(), sluice.Request{Key: key})
			if err == nil {
				h.Release()
			}
			return err
		},
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{"limit: {rate: 1/1m, block: 1h, per: key, keys: 10}"})
			for i := range 8 {
				key := string(rune('a' + i))
				require.NoError(t, ask(p, key), name)
				require.Error(t, ask(p, key), name)
				want := sluice.ReasonBlocked
				if i >= 5 {
					want = sluice.ReasonRate
				}
				assert.Equal(t, want, rejection(t, ask(p, key)).Reason, "%s: key %s", name, key)
			}
			assert.EqualValues(t, 6, state(t, p, "limit").Unblocked, name)
		})
	}
}
