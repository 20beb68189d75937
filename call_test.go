package sluice_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

var phased = []string{"timeout: 1m", "retry: 3", "breaker: {window: {consecutive: 2}, open: 1m}", "limit: 10/1h", "bulkhead: 1", "timeout: 10s"}

func begin(t *testing.T, p *sluice.Pipeline) *sluice.Call {
	t.Helper()
	c, err := p.Begin(t.Context(), sluice.Request{})
	require.NoError(t, err)
	return c
}

func TestTwoPhases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, phased)
		j := listen(p)
		c := begin(t, p)
		at, limited := c.Context().Deadline()
		assert.True(t, limited)
		assert.Equal(t, 10*time.Second, time.Until(at))
		c.Done(reducer.Fail)
		c.Done(reducer.OK)
		assert.Equal(t, []string{"0s admit 1", "0s end 1 fail"}, j.take(), "not retried, once")
		assert.Equal(t, "held 1/1", state(t, p, "bulkhead").Text, "until Release")
		require.NoError(t, c.Context().Err())
		_, err := p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrRejected)
		time.Sleep(time.Hour)
		require.NoError(t, c.Context().Err(), "the deadlines are over")
		c.Release()
		c.Release()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		assert.Equal(t, context.Canceled, c.Context().Err())
		assert.Equal(t, "closed failed 1 in a row", state(t, p, "breaker").Text)
		j.take()

		c = begin(t, p)
		c.Release()
		assert.Equal(t, []string{"1h0m0s admit 1", "1h0m0s end 1 cancel"}, j.take())
		assert.Equal(t, "closed failed 1 in a row", state(t, p, "breaker").Text, "no vote")

		c = begin(t, p)
		<-c.Context().Done()
		var cut *sluice.TimeoutError
		require.ErrorAs(t, context.Cause(c.Context()), &cut)
		assert.Equal(t, "timeout-2", cut.Step)
		require.ErrorIs(t, c.Context().Err(), context.DeadlineExceeded)
		time.Sleep(time.Second)
		c.Done(reducer.Fail)
		c.Release()
		assert.Equal(t, []string{"1h0m0s admit 1", "1h0m10s timeout 1 timeout-2", "1h0m10s breaker open", "1h0m10s end 1 timeout"}, j.take())
		_, err = p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

func TestBeginWaitsAndGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 1m}"})
		first := begin(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Begin(ctx, sluice.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, first.Release)
		second := begin(t, p)
		second.Release()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)

		assert.Equal(t, "lookup", recovered(func() {
			q := guarded(t, []string{"bulkhead: {concurrent: 1, name: first}", "bulkhead: {concurrent: 1, per: ip}"})
			defer func() { assert.Equal(t, "held 0/1", state(t, q, "first").Text) }()
			_, _ = q.Begin(t.Context(), sluice.Request{Lookup: func(string) string { panic("lookup") }})
		}))
	})
}

func TestHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 1}", "timeout: 10s", "bulkhead: {name: inner, concurrent: 1}"})
		var release func()
		var held context.Context
		hold := func(ctx context.Context) (int, error) {
			release, held = sluice.Hold(ctx), ctx
			return 1, nil
		}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, hold)
		require.NoError(t, err)
		for _, step := range []string{"outer", "inner"} {
			assert.Equal(t, "held 1/1", state(t, p, step).Text)
		}
		time.Sleep(time.Minute)
		require.NoError(t, held.Err(), "the deadline no longer cuts")
		release()
		release()
		require.ErrorIs(t, held.Err(), context.Canceled)
		for _, step := range []string{"outer", "inner"} {
			assert.Equal(t, "held 0/1", state(t, p, step).Text)
		}

		_, err = sluice.Do(t.Context(), p, hold)
		require.NoError(t, err)
		assert.Equal(t, "held 0/1", state(t, p, "inner").Text, "not holdable")
		release()
		sluice.Hold(t.Context())()
	})
}

func TestHoldEndsWithAnotherAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 1}", "retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}", "bulkhead: {name: inner, concurrent: 1}"})
		runs, releases := 0, []func(){}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
			assert.Equal(t, "held 1/1", state(t, p, "inner").Text)
			releases = append(releases, sluice.Hold(ctx))
			if runs++; runs < 3 {
				return 0, errBoom
			}
			return 1, nil
		})
		require.NoError(t, err)
		releases[0]()
		releases[1]()
		assert.Equal(t, "held 1/1", state(t, p, "inner").Text)
		assert.Equal(t, "held 1/1", state(t, p, "outer").Text)
		releases[2]()
		assert.Equal(t, "held 0/1", state(t, p, "inner").Text)
		assert.Equal(t, "held 0/1", state(t, p, "outer").Text)
	})
}

func TestHoldReleasedBeforeTheEnd(t *testing.T) {
	p := guarded(t, []string{"bulkhead: 1"})
	_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
		sluice.Hold(ctx)()
		return 1, nil
	})
	require.NoError(t, err)
	assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
}

func TestHoldEndsWithACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "timeout: 1m"})
		var held context.Context
		crash := func(how func()) {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
				sluice.Hold(ctx)
				held = ctx
				how()
				return 1, nil
			})
		}
		assert.Equal(t, "boom", recovered(func() { crash(func() { panic("boom") }) }))
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		require.ErrorIs(t, held.Err(), context.Canceled)
		go crash(runtime.Goexit)
		synctest.Wait()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}
