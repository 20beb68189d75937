package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// silent keeps the stacks of expected panics out of the output.
var silent = sluice.WithLogger(slog.New(slog.DiscardHandler))

var numbers = []int{1, 2, 3, 4, 5, 6, 7}

func TestMap(t *testing.T) {
	for _, concurrent := range []int{0, 1, 3, 100} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{"limit: {rate: 1000/1s, burst: 1, wait: 1m}"})
			var running, most atomic.Int64
			began := time.Now()
			values, err := sluice.Map(t.Context(), p, sluice.MapConfig[int]{Concurrent: concurrent}, numbers, func(_ context.Context, n int) (string, error) {
				now := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(time.Duration(10-n) * time.Second)
				return fmt.Sprint(n * n), nil
			})
			require.NoError(t, err)
			assert.Equal(t, []string{"1", "4", "9", "16", "25", "36", "49"}, values, "in the order of the items")
			if concurrent == 1 {
				assert.Equal(t, 42*time.Second, time.Since(began))
			}
			assert.EqualValues(t, map[int]int{0: 7, 1: 1, 3: 3, 100: 7}[concurrent], most.Load())
		})
	}
}

func TestMapOfNothing(t *testing.T) {
	p := guarded(t, []string{"limit: 1/1h"})
	values, err := sluice.Map(t.Context(), p, sluice.MapConfig[int]{}, nil, func(context.Context, int) (int, error) { t.Error("runs"); return 0, nil })
	require.NoError(t, err)
	assert.Empty(t, values)
	_, err = sluice.Map(t.Context(), p, sluice.MapConfig[int]{Concurrent: -1}, numbers, func(context.Context, int) (int, error) { t.Error("runs"); return 0, nil })
	require.EqualError(t, err, "sluice: Concurrent is -1; allowed: 1 or more, 0 for 10")
	var unknown *sluice.UnknownPolicyError
	_, err = sluice.Map(t.Context(), nil, sluice.MapConfig[int]{}, numbers, func(context.Context, int) (int, error) { t.Error("runs"); return 0, nil })
	require.ErrorAs(t, err, &unknown)
}

// odd fails for the numbers 3 and 5 after as many seconds, and takes a minute for others.
func odd(ctx context.Context, n int) (int, error) {
	switch n {
	case 3, 5:
		_, _ = elapse(ctx, time.Duration(n)*time.Second)
		return -n, fmt.Errorf("number %d: %w", n, errBoom)
	}
	return elapse(ctx, time.Minute)
}

func TestMapEndsWithTheFirstError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 100"})
		began := time.Now()
		causes := make(chan error, len(numbers))
		values, err := sluice.Map(t.Context(), p, sluice.MapConfig[int]{Concurrent: 4}, numbers, func(ctx context.Context, n int) (int, error) {
			defer func() { causes <- context.Cause(ctx) }()
			return odd(ctx, n)
		})
		var item *sluice.ItemError
		require.ErrorAs(t, err, &item)
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, 2, item.Index)
		require.EqualError(t, err, "sluice: item 2: number 3: boom")
		assert.Equal(t, 3*time.Second, time.Since(began), "the others were ended")
		assert.Equal(t, []int{0, 0, -3, 0, 0, 0, 0}, values)
		assert.Len(t, causes, 4, "no further item began")
		<-causes // of the one that failed
		assert.Equal(t, err, <-causes)
	})
}

func TestMapKeepsGoing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 100"})
		values, err := sluice.Map(t.Context(), p, sluice.MapConfig[int]{KeepGoing: true}, numbers, odd)
		require.EqualError(t, err, "sluice: item 2: number 3: boom\nsluice: item 4: number 5: boom")
		assert.Equal(t, []int{1, 1, -3, 1, -5, 1, 1}, values)
	})
}

func TestMapHonoursContexts(t *testing.T) {
	for _, keepGoing := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{"bulkhead: 100"})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			c := sluice.MapConfig[int]{Concurrent: 2, KeepGoing: keepGoing}
			_, err := sluice.Map(ctx, p, c, numbers, func(ctx context.Context, n int) (int, error) { return elapse(ctx, time.Minute) })
			require.Equal(t, context.Canceled, err)
			_, err = sluice.Map(ctx, p, c, numbers, func(context.Context, int) (int, error) { t.Error("runs"); return 0, nil })
			require.Equal(t, context.Canceled, err)
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = sluice.Map(ctx, p, c, numbers, func(ctx context.Context, n int) (int, error) { return elapse(ctx, time.Minute) })
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

func TestMapRequests(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 1/1h, per: key}"})
	c := sluice.MapConfig[int]{KeepGoing: true, Request: func(n int) sluice.Request { return sluice.Request{Key: sluice.KeyOf(n / 4)} }}
	_, err := sluice.Map(t.Context(), p, c, numbers, func(context.Context, int) (int, error) { return 0, nil })
	failed := 0
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		require.ErrorIs(t, err, sluice.ErrRejected)
		failed++
	}
	assert.Equal(t, 5, failed, "one of 1 to 3 and one of 4 to 7 pass")
}

// TestMapPanics repeats a panic and an exit on the goroutine of the caller, and returns
// when the others have.
func TestMapPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 100"}, silent)
		var running atomic.Int64
		for name, end := range map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit} {
			over := make(chan any)
			go func() {
				defer func() { over <- recover() }()
				_, err := sluice.Map(t.Context(), p, sluice.MapConfig[int]{}, numbers, func(ctx context.Context, n int) (int, error) {
					running.Add(1)
					defer running.Add(-1)
					if n == 3 {
						time.Sleep(time.Second)
						end()
					}
					return elapse(ctx, time.Minute)
				})
				t.Error("Map returned", err)
			}()
			began := time.Now()
			value := <-over
			assert.Equal(t, map[string]any{"panic": "boom", "exit": nil}[name], value)
			assert.Zero(t, running.Load())
			assert.Equal(t, time.Second, time.Since(began))
		}
		synctest.Wait()
		assert.EqualValues(t, 100, state(t, p, "bulkhead").Free)
	})
}

func TestItemError(t *testing.T) {
	err := error(&sluice.ItemError{Index: 1, Err: sluice.Ignore(errBoom)})
	require.ErrorIs(t, err, errBoom)
	var outcomer sluice.Outcomer
	assert.True(t, errors.As(err, &outcomer), "it has the outcome of the item")
}
