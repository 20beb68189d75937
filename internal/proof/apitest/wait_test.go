package apitest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

func TestWaitersAreServedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1s, burst: 1, wait: 10s, queue: 5}"})
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		began := time.Now()
		for i := range 7 {
			all.Go(func() {
				err := do(p, ok)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(i, " ", time.Since(began), " ", err))
			})
			synctest.Wait()
		}
		all.Wait()
		assert.Equal(t, []string{
			"0 0s <nil>", "6 0s sluice: p.limit: rejected: full, retry after 1s",
			"1 1s <nil>", "2 2s <nil>", "3 3s <nil>", "4 4s <nil>", "5 5s <nil>",
		}, order)
	})
}

// TestWaitersTakeNothingBeforeTheirEnd: at a limit that charges at the end all whose turn has
// come pass at one mark.
func TestWaitersTakeNothingBeforeTheirEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1s, burst: 1, charge: end, wait: 1500ms}"})
		require.NoError(t, do(p, ok))
		began := time.Now()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				assert.NoError(t, do(p, takes(time.Minute)))
				assert.Equal(t, time.Second+time.Minute, time.Since(began))
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

func TestWhoWouldWaitTooLongIsRefusedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1s, burst: 1, wait: 2s}"})
		for range 3 {
			go func() { _ = do(p, ok) }()
		}
		synctest.Wait()
		began := time.Now()
		err := do(p, ok)
		assert.Zero(t, time.Since(began))
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, reducer.ReasonWait, rejected.Reason)
		assert.Equal(t, time.Second, rejected.RetryAfter)
		time.Sleep(time.Second)
		require.NoError(t, do(p, ok), "the retry delay is exact")
		time.Sleep(time.Minute)
	})
}

func TestWaitThatExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: 10/1m", "bulkhead: {concurrent: 1, wait: 3s, queue: 9}"})
		go func() { _ = do(p, takes(time.Minute)) }()
		synctest.Wait()
		began := time.Now()
		err := do(p, ok)
		assert.Equal(t, 3*time.Second, time.Since(began))
		time.Sleep(time.Hour)
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, sluice.RejectedError{Policy: "p", Step: "bulkhead", Reason: reducer.ReasonWait, RetryAfter: -1, Waited: true}, *rejected)
		assert.Contains(t, err.Error(), "after waiting")
	})
}

// TestWhoGivesUpFreesItsPlace cancels one waiter: the waiters behind it move up, and
// the permits that it held are returned.
func TestWhoGivesUpFreesItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 4", "limit: {rate: 1/10s, burst: 1, wait: 1m}"})
		require.NoError(t, do(p, ok))
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := sluice.Do(ctx, p, ok)
			ended <- err
		}()
		synctest.Wait()
		behind := make(chan time.Duration)
		go func() {
			_ = do(p, ok)
			behind <- time.Since(began)
		}()
		synctest.Wait()
		assert.Equal(t, 2, state(t, p, "limit").Waiting)
		assert.EqualValues(t, 2, state(t, p, "bulkhead").Free)
		cancel()
		assert.Equal(t, context.Canceled, <-ended)
		synctest.Wait()
		assert.Equal(t, 1, state(t, p, "limit").Waiting)
		assert.EqualValues(t, 3, state(t, p, "bulkhead").Free)
		assert.Equal(t, 10*time.Second, <-behind)
		assert.EqualValues(t, 4, state(t, p, "bulkhead").Free)
	})
}

// TestTurnAndCancelTogether has callers cancelled at the mark of their turn:
// whichever comes first, no permit and no place is lost.
func TestTurnAndCancelTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 50 {
			p := guarded(t, []string{"limit: {rate: 1/1s, burst: 1, wait: 1m}", "bulkhead: {concurrent: 1, wait: 1m}"})
			require.NoError(t, do(p, ok))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := sluice.Do(ctx, p, ok)
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				assert.EqualValues(t, 1, state(t, p, "limit").Free, "refunded at the mark of the grant")
			}
			assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
			assert.Zero(t, state(t, p, "limit").Waiting)
		}
	})
}

// TestTurnAndTimeoutTogether has turns come at the mark of a timeout: ends
// come first, and nothing starts after its end.
func TestTurnAndTimeoutTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for range 50 {
			p := guarded(t, []string{"timeout: 1s", "bulkhead: {concurrent: 1, wait: 1m}", "limit: 10/1h"})
			go func() { _ = do(p, stubborn(time.Second)) }()
			synctest.Wait()
			require.ErrorIs(t, do(p, ok), context.DeadlineExceeded)
			synctest.Wait()
			assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
			assert.EqualValues(t, 9, state(t, p, "limit").Free)
		}
	})
}

// TestNothingStartsAfterItsEnd has a caller receive its turn long after it came,
// when its timeout is over.
func TestNothingStartsAfterItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := &jumping{began: time.Now()}
		p := guarded(t, []string{"timeout: 1m", "bulkhead: {concurrent: 1, wait: 1h}", "breaker: {window: {consecutive: 1}, open: 1h}"}, sluice.WithClock(source))
		// The breaker is left before the bulkhead.
		p.Listen(func(e sluice.Event) {
			if e.Kind == decision.Change {
				source.by.Store(int64(time.Hour))
			}
		})
		go func() { _ = do(p, stubborn2(time.Second)) }()
		synctest.Wait()
		err := do(p, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

// jumping is a source that may jump ahead.
type jumping struct {
	began time.Time
	by    atomic.Int64
}

func (j *jumping) Now() clock.Mark {
	return clock.Mark(time.Since(j.began)).Add(time.Duration(j.by.Load()))
}

// TestWaitBySlowClock waits by a source that is slower than the timers.
func TestWaitBySlowClock(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {rate: 1/1s, burst: 1, wait: 1m}"}, sluice.WithClock(slow{time.Now()}))
		require.NoError(t, do(p, ok))
		began := time.Now()
		require.NoError(t, do(p, ok))
		assert.InDelta(t, 2*time.Second, time.Since(began), float64(time.Microsecond))
	})
}

// slow is a source that takes twice as long for everything.
type slow struct{ began time.Time }

func (s slow) Now() clock.Mark { return clock.Mark(time.Since(s.began) / 2) }

// TestHopelessWaitsAreRefusedAtOnce has turns come at the mark of a deadline or
// after it: a call whose wait a timeout would cut does not wait.
func TestHopelessWaitsAreRefusedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, steps := range [][]string{
			{"timeout: 1s", "limit: {rate: 1/1s, burst: 1, wait: 1m}"},
			{"retry: 3", "timeout: 1s", "limit: {rate: 1/1s, burst: 1, wait: 1m}"},
			{"limit: {rate: 1/1s, burst: 1, wait: 1m}", "timeout: 1s"},
		} {
			p := guarded(t, steps)
			require.NoError(t, do(p, ok))
			began := time.Now()
			if steps[0] == "timeout: 1s" || len(steps) == 3 {
				var rejected *sluice.RejectedError
				require.ErrorAs(t, do(p, ok), &rejected)
				assert.Equal(t, sluice.RejectedError{Policy: "p", Step: "limit", Reason: sluice.ReasonDeadline, RetryAfter: 1}, *rejected)
				assert.Zero(t, time.Since(began))
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			var rejected *sluice.RejectedError
			_, err := sluice.Do(ctx, p, ok)
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, sluice.ReasonDeadline, rejected.Reason, "of the caller's context")
			assert.Zero(t, state(t, p, "limit").Waiting)
			cancel()
		}
	})
}

func TestTimeoutWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"limit: {name: first, rate: 10/1h}", "retry: 3", "timeout: 2s", "bulkhead: {concurrent: 1, wait: 2m}"})
		go func() { _ = do(p, stubborn(time.Minute)) }()
		synctest.Wait()
		j := listen(p)
		err := do(p, ok)
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		assert.Equal(t, "timeout", cut.Step)
		assert.Equal(t, []string{"0s wait 1 bulkhead", "2s timeout 1 timeout", "2s end timeout"}, j.all(), "not retried")
		assert.EqualValues(t, 9, state(t, p, "first").Free, "refunded")
		time.Sleep(time.Minute)
	})
}

// TestTimeoutBeforeAnotherAttempt cuts a call that waits for its second attempt: the
// call does not return the value of the first one.
func TestTimeoutBeforeAnotherAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: 2s", "retry: {attempts: 2, backoff: none}", "bulkhead: {concurrent: 1, wait: 2m}"})
		value, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) {
			go func() { _ = do(p, stubborn(time.Minute)) }()
			synctest.Wait() // it gets the place that this attempt releases
			return 7, errBoom
		})
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		require.ErrorIs(t, err, errBoom, "the last attempt's own error")
		assert.Zero(t, value)
		time.Sleep(time.Minute)
	})
}

func TestNewestFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, queue: 2, order: newest}"})
		go func() { _ = do(p, takes(time.Second)) }()
		synctest.Wait()
		var mu sync.Mutex
		var order []string
		for i := range 3 {
			go func() {
				err := do(p, takes(time.Second))
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(i, " ", err))
			}()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"0 sluice: p.bulkhead: rejected: full (after waiting)", "2 <nil>", "1 <nil>"}, order)
	})
}

// TestWaitsAreCounted whatever their end, with keys and without.
func TestWaitsAreCounted(t *testing.T) {
	for _, per := range []string{"", ", per: key"} {
		bubble(t, func(t *testing.T) {
			set, p := loaded(t, "limit: {rate: 1/4s, burst: 1, wait: 5s"+per+"}", "bulkhead: {concurrent: 1, wait: 2s"+per+"}")
			waited := func(step string, waits uint64, total time.Duration) {
				t.Helper()
				s := state(t, p, step)
				assert.Equal(t, waits, s.Waits)
				assert.Equal(t, total, s.Waited)
			}
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { _, _ = sluice.Do(t.Context(), p, stubborn(7*time.Second)) })
				synctest.Wait()
			}
			waited("limit", 0, 0)
			time.Sleep(4 * time.Second)
			synctest.Wait()
			waited("limit", 1, 4*time.Second)
			waited("bulkhead", 0, 0)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			waited("bulkhead", 1, 2*time.Second) // expired, and the permit of the limit is given back
			all.Go(func() { _, _ = sluice.Do(t.Context(), p, ok) })
			time.Sleep(time.Second)
			synctest.Wait()
			waited("bulkhead", 2, 3*time.Second) // had the place
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			all.Go(func() { _, _ = sluice.Do(ctx, p, ok) })
			time.Sleep(time.Second)
			cancel()
			all.Wait()
			waited("limit", 2, 5*time.Second) // left
			reload(t, set, "limit: {rate: 1/8s, burst: 1, wait: 5s"+per+"}")
			waited("limit", 2, 5*time.Second)
		})
	}
}
