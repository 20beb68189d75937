package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

type key struct{}

// worked returns a queue whose items take a second, and what became of them.
func worked(t *testing.T, c sluice.QueueConfig[string], steps ...string) (q *sluice.Queue[string], log func() []string) {
	t.Helper()
	lines := make(chan string, 100)
	c.OnDone = func(item string, err error) { lines <- fmt.Sprint(item, " ", err) }
	c.OnIdle = func() { lines <- "idle" }
	q, err := sluice.NewQueue(guarded(t, steps), c, func(ctx context.Context, item string) error {
		if _, err := elapse(ctx, time.Second); err != nil {
			return context.Cause(ctx)
		}
		switch item {
		case "bad":
			return errBoom
		case "panic":
			panic(errBoom)
		case "value":
			return errors.New(ctx.Value(key{}).(string))
		}
		return nil
	})
	require.NoError(t, err)
	return q, func() (all []string) {
		synctest.Wait()
		for len(lines) > 0 {
			all = append(all, <-lines)
		}
		return all
	}
}

func TestQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q, log := worked(t, sluice.QueueConfig[string]{Size: 3}, "timeout: 1h")
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "of the caller"))
		for _, item := range []string{"a", "bad", "panic", "value"} {
			_, err := q.TryPut(ctx, item)
			require.NoError(t, err)
		}
		cancel()
		began := time.Now()
		_, err := q.Put(t.Context(), "late")
		assert.Equal(t, &sluice.RejectedError{Policy: "p", Step: "queue", Reason: sluice.ReasonFull, Waited: true, RetryAfter: -1}, err)
		assert.Equal(t, 100*time.Millisecond, time.Since(began))
		_, err = q.TryPut(t.Context(), "late")
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, sluice.ExecutorCounts{Waiting: 3, Running: 1}, q.Counts())
		assert.Len(t, q.Jobs(), 4)
		require.NoError(t, q.Join(t.Context()))
		assert.Equal(t, 4*time.Second, time.Since(began), "one worker; the end of the caller's context ends no item")
		assert.Equal(t, []string{"a <nil>", "bad boom", "panic sluice: panic: boom", "value of the caller", "idle"}, log())
		assert.Equal(t, sluice.ExecutorCounts{Done: 4, Failed: 3}, q.Counts())
		require.NoError(t, q.Stop(t.Context()))
		_, err = q.Put(t.Context(), "late")
		require.Equal(t, sluice.ErrShutdown, err)
	})
}

func TestQueuePutWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q, log := worked(t, sluice.QueueConfig[string]{Workers: 2, Size: 1, Wait: time.Minute}, "timeout: 1h")
		began := time.Now()
		for _, item := range []string{"a", "b", "c", "d"} {
			_, err := q.Put(t.Context(), item)
			require.NoError(t, err)
		}
		assert.Equal(t, time.Second, time.Since(began), "for the first of the workers")
		require.NoError(t, q.Join(t.Context()))
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Len(t, log(), 5)
	})
}

func TestQueueDropAndStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		q, log := worked(t, sluice.QueueConfig[string]{}, "timeout: 1h")
		put := func(items ...string) {
			for _, item := range items {
				_, err := q.TryPut(t.Context(), item)
				require.NoError(t, err)
			}
		}
		put("a", "b", "c")
		assert.Equal(t, []string{"b", "c"}, q.Drop())
		assert.Equal(t, []string{"b sluice: shut down", "c sluice: shut down"}, log())
		put("d", "e")
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		require.Equal(t, context.DeadlineExceeded, q.Stop(ctx))
		require.NoError(t, q.Join(t.Context()))
		assert.ElementsMatch(t, []string{"a <nil>", "d sluice: shut down", "e sluice: shut down", "idle"}, log())
		assert.Equal(t, sluice.ExecutorCounts{Done: 2, Failed: 1, Dropped: 3}, q.Counts())
	})
}

// TestQueueIsGuarded gives each kind of item a limit of its own.
func TestQueueIsGuarded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := sluice.QueueConfig[string]{Request: func(item string) sluice.Request { return sluice.Request{Key: item} }}
		q, log := worked(t, c, "limit: {rate: 1/1h, per: key}")
		for _, item := range []string{"a", "a", "b"} {
			_, err := q.Put(t.Context(), item)
			require.NoError(t, err)
		}
		require.NoError(t, q.Join(t.Context()))
		got := log()
		assert.Equal(t, []string{"a <nil>", "b <nil>", "idle"}, []string{got[0], got[2], got[3]})
		assert.Contains(t, got[1], "a sluice: p.limit: rejected: rate")
	})
	p := guarded(t, []string{"timeout: 1s"})
	handle := func(context.Context, int) error { return nil }
	for c, want := range map[[2]int]string{
		{-1, 0}: "sluice: Workers is -1; allowed: 1 or more, 0 for 1",
		{0, -1}: "sluice: Size is -1; allowed: 1 or more, 0 for 100",
	} {
		_, err := sluice.NewQueue(p, sluice.QueueConfig[int]{Workers: c[0], Size: c[1]}, handle)
		require.EqualError(t, err, want)
	}
	_, err := sluice.NewQueue(nil, sluice.QueueConfig[int]{}, handle)
	require.Error(t, err)
}

// TestQueueOfNil puts an item that is a nil interface.
func TestQueueOfNil(t *testing.T) {
	bubble(t, func(t *testing.T) {
		handled := 0
		q, err := sluice.NewQueue(guarded(t, []string{"timeout: 1h"}), sluice.QueueConfig[error]{OnDone: func(item error, _ error) { require.NoError(t, item); handled++ }},
			func(_ context.Context, item error) error { time.Sleep(time.Second); return item })
		require.NoError(t, err)
		for range 2 {
			_, err = q.Put(t.Context(), nil)
			require.NoError(t, err)
		}
		assert.Equal(t, []error{nil}, q.Drop())
		require.NoError(t, q.Join(t.Context()))
		assert.Equal(t, 2, handled)
	})
}
