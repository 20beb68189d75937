package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/reducer"
)

// inside runs fn under a pipeline within the function of another one.
func inside(inner *sluice.Pipeline, fn func(context.Context) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) { return sluice.Do(ctx, inner, fn) }
}

var outerSteps = []string{
	"retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}",
	"breaker: {window: {consecutive: 1}, open: 1h}",
}

// TestNestedRefusals checks what refusals and ends of a policy mean for a policy around it.
func TestNestedRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		inner []string
		fn    func(context.Context) (int, error)
		want  []string
	}{
		"a retry-after is honoured": {
			inner: []string{"limit: 1/10s"}, fn: ok,
			want: []string{"0s admit 1", "0s retry 1 throttle until 10s", "10s admit 2", "10s end 2 ok"},
		},
		"where none is known, the backoff decides": {
			inner: []string{"bulkhead: 1"}, fn: ok,
			want: []string{"0s admit 1", "0s retry 1 throttle until 1s", "1s admit 2", "1s retry 2 throttle until 2s", "2s admit 3", "2s end 3 throttle attempts"},
		},
		"a wait that expired": {
			inner: []string{"bulkhead: {concurrent: 1, wait: 3s}"}, fn: ok,
			want: []string{"0s admit 1", "3s retry 1 throttle until 4s", "4s admit 2", "7s retry 2 throttle until 8s", "8s admit 3", "11s end 3 throttle attempts"},
		},
		"a timeout is a failure": {
			inner: []string{"timeout: 2s"}, fn: takes(time.Minute),
			want: []string{"0s admit 1", "2s breaker open", "2s end 1 fail open"},
		},
		"an end passes its outcome on": {
			inner: []string{"retry: {attempts: 1}"}, fn: func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, 5*time.Second) },
			want: []string{"0s admit 1", "0s retry 1 throttle until 5s", "5s admit 2", "5s retry 2 throttle until 10s", "10s admit 3", "10s end 3 throttle attempts"},
		},
		"an ignored end too": {
			inner: []string{"retry: {attempts: 1}"}, fn: func(context.Context) (int, error) { return 0, sluice.Ignore(errBoom) },
			want: []string{"0s admit 1", "0s end 1 ignore"},
		},
		"a failure is one": {
			inner: []string{"retry: {attempts: 2, backoff: none}"}, fn: fails,
			want: []string{"0s admit 1", "0s breaker open", "0s end 1 fail open"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				inner := guarded(t, c.inner)
				held, err := inner.Begin(t.Context(), sluice.Request{Cost: 1})
				require.NoError(t, err)
				defer held.Release()
				outer := guarded(t, outerSteps)
				j := listen(outer)
				_, _ = sluice.Do(t.Context(), outer, inside(inner, c.fn))
				assert.Equal(t, c.want, j.all())
			})
		})
	}
}

// TestNestedCapacity asks for more than a limit ever has.
func TestNestedCapacity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner, outer := guarded(t, []string{"limit: 2/1s"}), guarded(t, outerSteps)
		j := listen(outer)
		_, err := sluice.Do(t.Context(), outer, func(ctx context.Context) (int, error) {
			return sluice.DoWith(ctx, inner, sluice.Request{Cost: 3}, ok)
		})
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, []string{"0s admit 1", "0s end 1 throttle pushback"}, j.all())
	})
}

// TestNestedMechanisms is TestNestedRefusals for mechanisms alone.
func TestNestedMechanisms(t *testing.T) {
	for name, c := range map[string]struct {
		refuse func(t *testing.T) func(context.Context) error
		want   string
	}{
		"breaker": {func(t *testing.T) func(context.Context) error {
			b := broken(t, breakerConfig())
			b.Transition(breaker.Open)
			return func(ctx context.Context) error { return b.Do(ctx, good) }
		}, "0s retry 1 throttle until 1m0s"},
		"bulkhead": {func(t *testing.T) func(context.Context) error {
			b := walled(t, bulkhead.Config{Concurrent: 1})
			_, got := b.TryAcquire()
			require.True(t, got)
			return func(ctx context.Context) error { return b.Do(ctx, good) }
		}, "0s retry 1 throttle until 1ms"},
		"limiter": {func(t *testing.T) func(context.Context) error {
			l := limited(t, rate(1, 10*time.Second))
			require.True(t, l.Allow())
			return func(context.Context) error { _, err := l.Reserve(1, 0); return err }
		}, "0s retry 1 throttle until 10s"},
		"limiter, more than it ever has": {func(t *testing.T) func(context.Context) error {
			l := limited(t, rate(1, 10*time.Second))
			return func(ctx context.Context) error { return l.WaitN(ctx, 2) }
		}, "0s end 1 throttle pushback"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				refuse := c.refuse(t)
				around := broken(t, breakerConfig())
				for range 3 {
					require.ErrorIs(t, around.Do(t.Context(), refuse), sluice.ErrRejected)
				}
				assert.Equal(t, breaker.Closed, around.Mode(), "a refusal does not vote")
				outer := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1ms}, jitter: none}"})
				j := listen(outer)
				_, _ = sluice.Do(t.Context(), outer, func(ctx context.Context) (int, error) { return 0, refuse(ctx) })
				assert.Equal(t, c.want, j.all()[1])
			})
		})
	}
}

// TestNestedTimeoutAsksForNoDelay has an inner policy cut after an attempt that said when to
// come back: the outer retry waits its backoff.
func TestNestedTimeoutAsksForNoDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		inner := guarded(t, []string{"timeout: 2s", "retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}"})
		outer := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}"})
		j := listen(outer)
		_, err := sluice.Do(t.Context(), outer, inside(inner, func(ctx context.Context) (int, error) {
			_, _ = elapse(ctx, 500*time.Millisecond)
			return 0, sluice.Throttle(errBoom, time.Second)
		}))
		require.Error(t, err)
		assert.Equal(t, []string{"0s admit 1", "2s retry 1 fail until 3s", "3s admit 2", "5s end 2 fail attempts"}, j.all())

		stubborn := sluice.Wrap(inner, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, sluice.Throttle(errBoom, time.Minute)
		})
		j.take()
		_, err = sluice.Do(t.Context(), outer, stubborn)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "7s retry 1 fail until 8s", j.all()[1])
	})
}

// TestClassifyIsAskedAboutNestedRefusals has a user's classifier call a refusal a
// failure.
func TestClassifyIsAskedAboutNestedRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		classify := sluice.WithClassify(func(err error) reducer.Outcome {
			asked++
			if asked > 1 {
				return reducer.Ignore
			}
			return reducer.Fail
		})
		inner := guarded(t, []string{"timeout: 1s", "limit: 1/10s"})
		outer := guarded(t, []string{"retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}"}, classify)
		j := listen(outer)
		require.NoError(t, do(inner, ok))
		_, err := sluice.Do(t.Context(), outer, inside(inner, takes(time.Minute)))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []string{"0s admit 1", "0s retry 1 fail until 10s", "10s admit 2", "11s end 2 ignore"}, j.all())
		assert.Equal(t, 2, asked)
	})
}
