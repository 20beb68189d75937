package apitest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

func TestStateOfABreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breaker.Config{Window: breaker.Time, Count: 10, Span: 10 * time.Second, Minimum: 4, FailureRate: reducer.Percent(50), Probes: 2,
			Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}})
		assert.Equal(t, sluice.CellState{Text: "closed failed 0/0"}, b.State())
		pass, ok := b.TryAcquire()
		require.True(t, ok)
		time.Sleep(3 * time.Second)
		pass.Done(reducer.OK)
		require.Error(t, b.Do(t.Context(), bad))
		third := breaker.Counts{Calls: 2, Failed: 1, FailureRate: reducer.Percent(50)}
		assert.Equal(t, sluice.CellState{Counts: third, MeanTime: 1500 * time.Millisecond, Text: "closed failed 1/2"}, b.State())
		time.Sleep(11 * time.Second)
		assert.Zero(t, b.State().Counts, "the window has moved")

		b.Transition(breaker.Open)
		time.Sleep(20 * time.Second)
		s := b.State()
		assert.Equal(t, breaker.Open, s.Mode)
		assert.Equal(t, 20*time.Second, s.Since)
		assert.Equal(t, 40*time.Second, s.Left)
		assert.Equal(t, "open for another 40s", s.Text)
		time.Sleep(41 * time.Second)
		s = b.State()
		assert.Equal(t, breaker.HalfOpen, s.Mode)
		assert.Equal(t, time.Second, s.Since)
		assert.Zero(t, s.Left)
		assert.Zero(t, new(sluice.Breaker).State())
	})
}

func TestStateOfALimiterAndABulkhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, rate(2, time.Second))
		assert.EqualValues(t, 2, l.State().Free)
		require.True(t, l.AllowN(2))
		b := walled(t, places(1, 1))
		place, ok := b.TryAcquire()
		require.True(t, ok)
		go func() { _ = l.Wait(t.Context()) }()
		go func() {
			got, err := b.Acquire(t.Context())
			if assert.NoError(t, err) {
				got.Release()
			}
		}()
		synctest.Wait()
		s := l.State()
		assert.Equal(t, []int{0, 1}, []int{int(s.Free), s.Waiting})
		s = b.State()
		assert.Equal(t, []int{0, 1, 1}, []int{int(s.Free), int(s.InUse), s.Waiting})
		assert.Equal(t, "held 1/1 waiting 1", s.Text)
		place.Release()
		time.Sleep(time.Minute)
		assert.EqualValues(t, 2, l.State().Free)
		assert.EqualValues(t, 1, b.State().Free)
		assert.Zero(t, new(sluice.Limiter).State())
		assert.Zero(t, new(sluice.Bulkhead).State())
	})
}

func TestStateOfAKey(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow} {
		l, err := sluice.NewKeyedLimiter(limiter.Config{Algorithm: algorithm, Count: 3, Period: time.Hour})
		require.NoError(t, err)
		require.True(t, l.Allow("a"))
		s, ok := l.State("a")
		assert.True(t, ok)
		assert.EqualValues(t, 2, s.Free)
		assert.Regexp(t, `^(free 2/3|used 1/3 for another (1h0m0s|59m59\.\d+s))$`, s.Text)
		_, ok = l.State("b")
		assert.False(t, ok)
	}
}

func TestKeysOfAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"breaker: {per: key, window: {calls: 4}, minimum: 2, failure_rate: 100%, open: 1m}",
			"limit: {rate: 3/1h, per: key}", "bulkhead: {concurrent: 2, per: key}", "adaptive: {initial: 4}",
		})
		for _, key := range []string{"a", "b", "b"} {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, fails)
			require.ErrorIs(t, err, errBoom)
		}
		time.Sleep(10 * time.Second)
		var inside map[string]sluice.CellState
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, func(context.Context) (int, error) {
			inside = keys(p, "bulkhead")
			assert.EqualValues(t, 1, state(t, p, "adaptive").Cell.InUse)
			return 1, nil
		})
		require.NoError(t, err)
		assert.EqualValues(t, 1, inside["a"].InUse)
		assert.EqualValues(t, 1, inside["a"].Free)

		breakers := keys(p, "breaker")
		assert.Len(t, breakers, 2)
		assert.Equal(t, breaker.Counts{Calls: 2, Failed: 1, FailureRate: reducer.Percent(50)}, breakers["a"].Counts)
		assert.Equal(t, sluice.CellState{Mode: breaker.Open, Left: 50 * time.Second, Text: "open for another 50s"}, breakers["b"])
		time.Sleep(time.Minute)
		assert.Equal(t, breaker.HalfOpen, keys(p, "breaker")["b"].Mode)
		assert.EqualValues(t, 1, keys(p, "limit")["a"].Free)
		assert.Empty(t, keys(p, "adaptive"))
		assert.Empty(t, keys(p, "none"))
		for range p.Keys("limit") {
			break
		}
	})
}

func keys(p *sluice.Pipeline, step string) map[string]sluice.CellState {
	all := map[string]sluice.CellState{}
	for key, s := range p.Keys(step) {
		all[key] = s
	}
	return all
}

func TestStateOfAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {calls: 4}, minimum: 4, failure_rate: 75%, open: 1m}"})
		for _, f := range []time.Duration{time.Second, 3 * time.Second} {
			require.NoError(t, do(p, takes(f)))
		}
		s := state(t, p, "breaker").Cell
		assert.Equal(t, 2*time.Second, s.MeanTime)
		for range 3 {
			require.Error(t, do(p, fails))
		}
		time.Sleep(15 * time.Second)
		s = state(t, p, "breaker").Cell
		assert.Equal(t, []time.Duration{15 * time.Second, 45 * time.Second}, []time.Duration{s.Since, s.Left})
		assert.Equal(t, "open for another 45s", state(t, p, "breaker").Text, "time, not marks")
	})
}
