package apitest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

func executor(t *testing.T, c sluice.ExecutorConfig, steps ...string) *sluice.Executor {
	t.Helper()
	if len(steps) == 0 {
		steps = []string{"timeout: 1h"}
	}
	e, err := sluice.NewExecutor(guarded(t, steps), c)
	require.NoError(t, err)
	return e
}

// lasts is a job of a length that ends with its context.
func lasts(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { _, err := elapse(ctx, d); return err }
}

// launch starts a job, which must have room.
func launch(t *testing.T, e *sluice.Executor, fn func(context.Context) error) *sluice.Job {
	t.Helper()
	j, err := e.TryGo(t.Context(), sluice.Request{}, fn)
	require.NoError(t, err)
	return j
}

func TestExecutor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log []string
		var mu sync.Mutex
		note := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, text)
		}
		e := executor(t, sluice.ExecutorConfig{
			Concurrent: 1, Queue: 2,
			OnDone:  func(j *sluice.Job) { note(fmt.Sprint("done ", j.ID(), " ", j.Err())) },
			OnEmpty: func() { note("empty") }, OnIdle: func() { note("idle") },
		})
		first := launch(t, e, lasts(10*time.Second))
		second := launch(t, e, func(context.Context) error { return errBoom })
		third := launch(t, e, lasts(10*time.Second))
		began := time.Now()
		_, err := e.TryGo(t.Context(), sluice.Request{}, good)
		assert.Equal(t, &sluice.RejectedError{Policy: "p", Step: "executor", Reason: sluice.ReasonFull, RetryAfter: -1}, err)
		_, err = e.Go(t.Context(), sluice.Request{}, good)
		assert.Equal(t, &sluice.RejectedError{Policy: "p", Step: "executor", Reason: sluice.ReasonFull, Waited: true, RetryAfter: -1}, err)
		assert.Equal(t, sluice.DefaultPutWait, time.Since(began))
		assert.Equal(t, []*sluice.Job{first, second, third}, e.Jobs())
		assert.Equal(t, "running waiting waiting", fmt.Sprint(first.State(), " ", second.State(), " ", third.State()))
		assert.Equal(t, sluice.ExecutorCounts{Running: 1, Waiting: 2}, e.Counts())
		assert.Equal(t, began, first.Started())
		assert.True(t, second.Started().IsZero())
		require.NoError(t, second.Err(), "it is not over")

		require.ErrorIs(t, second.Wait(t.Context()), errBoom)
		assert.Equal(t, 10*time.Second, time.Since(began))
		require.NoError(t, e.Join(t.Context()))
		assert.Equal(t, 20*time.Second, time.Since(began), "an error ends no worker")
		assert.Equal(t, sluice.JobDone, third.State())
		assert.Equal(t, sluice.ExecutorCounts{Done: 3, Failed: 1}, e.Counts())
		assert.Empty(t, e.Jobs())
		synctest.Wait()
		assert.Equal(t, []string{"done 1 <nil>", "done 2 boom", "empty", "done 3 <nil>", "idle"}, log)
	})
}

func TestExecutorWaitsForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := executor(t, sluice.ExecutorConfig{Concurrent: 1, Wait: -1})
		launch(t, e, lasts(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := e.Go(ctx, sluice.Request{}, good)
		require.Equal(t, context.DeadlineExceeded, err)
		began := time.Now()
		j, err := e.Go(t.Context(), sluice.Request{}, good)
		require.NoError(t, err)
		assert.Equal(t, 59*time.Minute, time.Since(began))
		require.NoError(t, j.Wait(t.Context()))
		_, err = e.Go(ctx, sluice.Request{}, good)
		require.Equal(t, context.DeadlineExceeded, err, "with room, too")
	})
}

func TestExecutorIsGuarded(t *testing.T) {
	e := executor(t, sluice.ExecutorConfig{}, "limit: {rate: 1/1h, per: key}")
	for i, want := range []error{nil, sluice.ErrRejected} {
		j, err := e.Go(t.Context(), sluice.Request{Key: "a"}, good)
		require.NoError(t, err)
		require.ErrorIs(t, j.Wait(t.Context()), want, i)
	}
	_, err := sluice.NewExecutor(nil, sluice.ExecutorConfig{})
	var unknown *sluice.UnknownPolicyError
	require.ErrorAs(t, err, &unknown)
	p := guarded(t, []string{"timeout: 1s"})
	_, err = sluice.NewExecutor(p, sluice.ExecutorConfig{Concurrent: -1})
	require.EqualError(t, err, "sluice: Concurrent is -1; allowed: 1 or more, 0 for 10")
	_, err = sluice.NewExecutor(p, sluice.ExecutorConfig{Queue: -1})
	require.EqualError(t, err, "sluice: Queue is -1; allowed: 0 or more")
}

func TestSubmit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := executor(t, sluice.ExecutorConfig{})
		task, err := sluice.Submit(t.Context(), e, sluice.Request{}, takes(time.Second))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		value, err := task.Wait(ctx)
		require.Equal(t, context.DeadlineExceeded, err)
		assert.Zero(t, value)
		value, err = task.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, value)
		require.NoError(t, e.Shutdown(t.Context()))
		_, err = sluice.Submit(t.Context(), e, sluice.Request{}, ok)
		require.Equal(t, sluice.ErrShutdown, err)
	})
}

// TestExecutorSurvives has jobs panic, exit and be cancelled.
func TestExecutorSurvives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := executor(t, sluice.ExecutorConfig{Concurrent: 1, Queue: 10}, "breaker: {window: {calls: 10}, minimum: 10}", "bulkhead: 1")
		panics, exits := launch(t, e, func(context.Context) error { panic("boom") }), launch(t, e, func(context.Context) error { runtime.Goexit(); return nil })
		long, waiting, last := launch(t, e, lasts(time.Hour)), launch(t, e, good), launch(t, e, good)
		var crash *sluice.PanicError
		require.ErrorAs(t, panics.Wait(t.Context()), &crash)
		assert.Equal(t, "boom", crash.Value)
		assert.Contains(t, string(crash.Stack), "executor_test.go")
		require.EqualError(t, crash, "sluice: panic: boom")
		require.Equal(t, sluice.ErrExited, exits.Wait(t.Context()))
		waiting.Cancel()
		synctest.Wait()
		long.Cancel()
		require.ErrorIs(t, long.Wait(t.Context()), context.Canceled)
		require.ErrorIs(t, waiting.Wait(t.Context()), context.Canceled)
		require.NoError(t, last.Wait(t.Context()))
		assert.Equal(t, sluice.ExecutorCounts{Done: 5, Failed: 4}, e.Counts())
	})
}

func TestExecutorShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := executor(t, sluice.ExecutorConfig{Concurrent: 2, Queue: 2, Wait: -1})
		var cause error
		obeys := launch(t, e, func(ctx context.Context) error {
			_, err := elapse(ctx, time.Hour)
			cause = context.Cause(ctx)
			return err
		})
		ignores := launch(t, e, func(context.Context) error { time.Sleep(time.Hour); return nil })
		waits := launch(t, e, good)
		launch(t, e, good)
		refused := make(chan error)
		go func() { _, err := e.Go(t.Context(), sluice.Request{}, good); refused <- err }()
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		require.Equal(t, context.DeadlineExceeded, e.Shutdown(ctx))
		assert.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, sluice.ErrShutdown, <-refused, "it waited for room")
		require.Equal(t, sluice.ErrShutdown, waits.Err())
		assert.Equal(t, sluice.JobDropped, waits.State())
		require.ErrorIs(t, obeys.Wait(t.Context()), context.Canceled)
		assert.Equal(t, sluice.ErrShutdown, cause)
		_, err := e.TryGo(t.Context(), sluice.Request{}, good)
		require.Equal(t, sluice.ErrShutdown, err)

		require.NoError(t, e.Join(t.Context()))
		assert.Equal(t, time.Hour, time.Since(began), "a job that ignores its context")
		require.NoError(t, ignores.Err())
		assert.Equal(t, sluice.ExecutorCounts{Done: 2, Failed: 1, Dropped: 2}, e.Counts())
		require.NoError(t, e.Shutdown(t.Context()), "again")
	})
}

func TestExecutorDrop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		e := executor(t, sluice.ExecutorConfig{Concurrent: 1, Queue: 5})
		runs := launch(t, e, lasts(time.Second))
		for range 5 {
			launch(t, e, func(context.Context) error { t.Error("a dropped job runs"); return nil })
		}
		assert.Equal(t, 5, e.Drop())
		assert.Zero(t, e.Drop())
		for range 5 {
			launch(t, e, good)
		}
		require.NoError(t, e.Join(t.Context()))
		require.NoError(t, runs.Err())
		assert.Equal(t, sluice.ExecutorCounts{Done: 6, Dropped: 5}, e.Counts())
	})
}

// TestExecutorUnderLoad counts jobs that many goroutines start, cancel, drop and wait for.
func TestExecutorUnderLoad(t *testing.T) {
	seed := uint64(20261122)
	t.Log("seed", seed)
	const callers, each, concurrent = 8, 200, 3
	var running, ran, done, refused atomic.Int64
	e := executor(t, sluice.ExecutorConfig{Concurrent: concurrent, Queue: 4, Wait: time.Minute, OnDone: func(*sluice.Job) { done.Add(1) }})
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range each {
				start := e.Go
				if random.IntN(2) == 0 {
					start = e.TryGo
				}
				j, err := start(t.Context(), sluice.Request{}, func(context.Context) error {
					if n := running.Add(1); n > concurrent {
						t.Error(n, "jobs at once")
					}
					defer running.Add(-1)
					ran.Add(1)
					return nil
				})
				switch {
				case err != nil:
					refused.Add(1)
				case random.IntN(4) == 0:
					j.Cancel()
				case random.IntN(8) == 0:
					e.Drop()
				case random.IntN(4) == 0:
					_ = j.Wait(t.Context())
				}
			}
		})
	}
	wait.Wait()
	require.NoError(t, e.Shutdown(t.Context()))
	c := e.Counts()
	assert.EqualValues(t, callers*each, int64(c.Done+c.Dropped)+refused.Load())
	assert.EqualValues(t, c.Done+c.Dropped, done.Load())
	assert.Equal(t, ran.Load(), int64(c.Done-c.Failed), "a cancelled job does not run its function")
	assert.Zero(t, c.Running+c.Waiting)
}

func TestJobState(t *testing.T) {
	assert.Equal(t, "waiting running done dropped JobState(4)", fmt.Sprint(sluice.JobWaiting, " ", sluice.JobRunning, " ", sluice.JobDone, " ", sluice.JobDropped, " ", sluice.JobState(4)))
}
