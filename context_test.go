package sluice_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

type key struct{}

// attempted runs f as an attempt under a timeout of 2 s and returns its context.
func attempted(t *testing.T, parent context.Context, f func(ctx context.Context)) context.Context {
	t.Helper()
	var own context.Context
	_, _ = sluice.Do(parent, guarded(t, []string{"timeout: 2s"}), func(ctx context.Context) (int, error) {
		own = ctx
		f(ctx)
		return 1, nil
	})
	require.NotNil(t, own)
	return own
}

func TestAttemptIsSmall(t *testing.T) {
	assert.EqualValues(t, 32, sluice.AttemptSize)
}

func TestAttemptKnowsItsDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		later, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sooner, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for parent, want := range map[context.Context]time.Duration{t.Context(): 2 * time.Second, later: 2 * time.Second, sooner: time.Second} {
			began := time.Now()
			attempted(t, parent, func(ctx context.Context) {
				at, ok := ctx.Deadline()
				require.True(t, ok)
				assert.Equal(t, want, at.Sub(began))
				assert.WithinDuration(t, began.Add(want), at.Round(0), time.Microsecond, "by the wall clock")
			})
		}
	})
}

func TestAttemptErrsAtItsDeadlineWithoutATimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := attempted(t, t.Context(), func(ctx context.Context) {
			require.NoError(t, ctx.Err())
			time.Sleep(2*time.Second - 1)
			require.NoError(t, ctx.Err())
			time.Sleep(time.Nanosecond)
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		})
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "the first error stays")
		<-ctx.Done()
		assert.Equal(t, context.DeadlineExceeded, ctx.Err(), "after Done too")
	})
}

func TestAttemptIsCancelledAtItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := attempted(t, t.Context(), func(context.Context) {})
		assert.Equal(t, context.Canceled, ctx.Err())
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, context.Canceled, context.Cause(ctx))

		var done <-chan struct{}
		ctx = attempted(t, t.Context(), func(ctx context.Context) { done = ctx.Done() })
		<-done
		assert.Equal(t, context.Canceled, ctx.Err())
		time.Sleep(time.Minute)
		assert.Equal(t, context.Canceled, ctx.Err(), "the deadline comes too late")

		// Done for the first time at an end that has passed the deadline.
		ctx = attempted(t, t.Context(), func(ctx context.Context) { time.Sleep(time.Minute) })
		assert.Equal(t, context.Canceled, ctx.Err())
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err())
	})
}

func TestAttemptFollowsItsParent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		attempted(t, parent, func(ctx context.Context) {
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.Nil(t, ctx.Value("another"))
			done := ctx.Done()
			assert.Equal(t, "value", ctx.Value(key{}))
			cancel()
			<-done
			assert.Equal(t, context.Canceled, ctx.Err())
		})
		_, err := sluice.Do(parent, guarded(t, []string{"timeout: 2s"}), ok)
		assert.Equal(t, context.Canceled, err)

		parent, cancel = context.WithCancel(t.Context())
		ctx := attempted(t, parent, func(ctx context.Context) {
			cancel()
			assert.Equal(t, context.Canceled, ctx.Err())
		})
		<-ctx.Done()

		parent, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		attempted(t, parent, func(ctx context.Context) {
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			<-ctx.Done()
		})
	})
}

func TestAttemptsChildrenNeedNoGoroutine(t *testing.T) {
	var children []context.Context
	attempted(t, t.Context(), func(ctx context.Context) {
		before := runtime.NumGoroutine()
		for range 100 {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			grandchild, cancel := context.WithTimeout(child, time.Hour)
			defer cancel()
			children = append(children, child, grandchild)
		}
		// One that another test left may have ended meanwhile; two hundred
		// children would have added as many.
		assert.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
	for _, child := range children {
		<-child.Done()
		assert.Equal(t, context.Canceled, child.Err())
	}
}

func TestAttemptsDoneFromManyGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		attempted(t, t.Context(), func(ctx context.Context) {
			for range 20 {
				go func() {
					<-ctx.Done()
					assert.Error(t, ctx.Err())
				}()
				go func() { _ = ctx.Err() }()
			}
		})
	})
}

// underBoth runs a test in virtual time for attempts of a parent that may end
// before them, and of one that never ends.
func underBoth(t *testing.T, f func(t *testing.T, parent context.Context)) {
	bubble(t, func(t *testing.T) { f(t, t.Context()) })
	bubble(t, func(t *testing.T) { f(t, context.Background()) })
}

func TestAttemptsChildren(t *testing.T) {
	underBoth(t, attemptsChildren)
}

func attemptsChildren(t *testing.T, parent context.Context) {
	var left, late context.Context
	ran := make(chan string, 9)
	ctx := attempted(t, parent, func(ctx context.Context) {
		stop := context.AfterFunc(ctx, func() { ran <- "stopped" })
		assert.True(t, stop())
		assert.False(t, stop())
		context.AfterFunc(ctx, func() { ran <- "ended" })
		var cancel context.CancelFunc
		left, cancel = context.WithTimeout(ctx, time.Hour)
		defer cancel()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, context.DeadlineExceeded, left.Err(), "with the attempt")
		late, cancel = context.WithCancel(ctx)
		defer cancel()
		assert.Equal(t, context.DeadlineExceeded, late.Err(), "at once")
	})
	assert.Equal(t, "ended", <-ran)
	assert.Empty(t, ran)
	hooked := ctx.(interface {
		AfterFunc(f func()) (stop func() bool)
	})
	assert.False(t, hooked.AfterFunc(func() { ran <- "late" })())
	assert.Equal(t, "late", <-ran)
}

// odd is a context with an error of its own.
type odd struct{ context.Context }

var errOdd = errors.New("odd")

func (o odd) Err() error {
	if o.Context.Err() != nil {
		return errOdd
	}
	return nil
}

func TestAttemptOfAnOddParent(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	attempted(t, odd{parent}, func(ctx context.Context) {
		cancel(errBoom)
		require.ErrorIs(t, ctx.Err(), errOdd)
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), errOdd)
		assert.Equal(t, errBoom, context.Cause(ctx))
	})
}

// hooked is a context of which somebody is told that it is looked into.
type hooked struct {
	context.Context
	asked func()
}

func (h hooked) Value(key any) any {
	h.asked()
	return h.Context.Value(key)
}

// TestChildMadeWhenTheAttemptEnds has package context look whether the attempt
// has ended, and the attempt end before the child attaches to it.
func TestChildMadeWhenTheAttemptEnds(t *testing.T) {
	underBoth(t, func(t *testing.T, parent context.Context) {
		armed := false
		parent = hooked{parent, func() {
			if armed {
				time.Sleep(time.Minute)
			}
		}}
		attempted(t, parent, func(ctx context.Context) {
			ctx.Done()
			armed = true
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			assert.Equal(t, context.DeadlineExceeded, child.Err())
		})
	})
}

func TestChildrenBelowAValue(t *testing.T) {
	var children []context.Context
	attempted(t, t.Context(), func(ctx context.Context) {
		before := runtime.NumGoroutine()
		for range 100 {
			child, cancel := context.WithCancel(context.WithValue(ctx, key{}, "value"))
			defer cancel()
			children = append(children, child)
		}
		assert.LessOrEqual(t, runtime.NumGoroutine(), before)
	})
	for _, child := range children {
		assert.Equal(t, context.Canceled, child.Err(), "at once")
	}
}

func TestDoneAfterTheDeadline(t *testing.T) {
	underBoth(t, func(t *testing.T, parent context.Context) {
		attempted(t, parent, func(ctx context.Context) {
			time.Sleep(time.Minute)
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			assert.Equal(t, context.DeadlineExceeded, child.Err())
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
		})
	})
}

func TestParentsEndIsSeenAtOnce(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	attempted(t, parent, func(ctx context.Context) {
		child, stop := context.WithCancel(ctx)
		defer stop()
		cancel(errBoom)
		assert.Equal(t, context.Canceled, child.Err())
		assert.Equal(t, errBoom, context.Cause(ctx))
	})
}

func TestCauseStays(t *testing.T) {
	for _, asked := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			parent, cancel := context.WithCancelCause(t.Context())
			attempted(t, parent, func(ctx context.Context) {
				if asked {
					ctx.Done()
				}
				time.Sleep(time.Minute)
				assert.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
				cancel(errBoom)
				synctest.Wait()
				assert.Equal(t, context.DeadlineExceeded, context.Cause(ctx))
			})
		})
	}
}

// TestAlarmsAreUsedAgain has attempts inside and outside of bubbles ask for
// Done: a timer of a bubble must not be used outside it.
func TestAlarmsAreUsedAgain(t *testing.T) {
	p := guarded(t, []string{"timeout: 2s"})
	asks := func(ctx context.Context) (int, error) { ctx.Done(); return 1, nil }
	for range 3 {
		for range 5 {
			_, err := sluice.Do(context.Background(), p, asks)
			require.NoError(t, err)
		}
		bubble(t, func(t *testing.T) {
			_, err := sluice.Do(context.Background(), p, asks)
			require.NoError(t, err)
			_, err = sluice.Do(context.Background(), p, takes(time.Minute))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			time.Sleep(40 * 365 * 24 * time.Hour) // beyond the time outside
			_, err = sluice.Do(context.Background(), p, asks)
			require.NoError(t, err)
		})
	}
}

// TestAlarmsGoFromAttemptToAttempt has attempts of different lengths follow each
// other, so that the timer of an alarm runs out before, at and long after the
// deadline of the present one. It is the one test here that waits for the real
// clock, some milliseconds: in a bubble no alarm is used again.
func TestAlarmsGoFromAttemptToAttempt(t *testing.T) {
	asks := func(ctx context.Context) (int, error) { ctx.Done(); return 1, nil }
	waits := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		at, _ := ctx.Deadline()
		assert.False(t, time.Now().Before(at), "ended early")
		assert.Equal(t, context.DeadlineExceeded, ctx.Err())
		return 1, nil
	}
	long, short, shorter := guarded(t, []string{"timeout: 1h"}), guarded(t, []string{"timeout: 2ms"}), guarded(t, []string{"timeout: 1ms"})
	for range 3 {
		for _, p := range []*sluice.Pipeline{long, shorter} {
			_, err := sluice.Do(context.Background(), p, asks)
			require.NoError(t, err)
			_, err = sluice.Do(context.Background(), short, waits)
			require.NoError(t, err, "the value of a late success is returned")
		}
	}
}

func TestAttemptWithAClockOfItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		source := clock.NewMonotonic()
		time.Sleep(time.Hour)
		p := guarded(t, []string{"timeout: 2s"}, sluice.WithClock(source))
		began := time.Now()
		_, err := sluice.Do(t.Context(), p, func(ctx context.Context) (int, error) {
			at, ok := ctx.Deadline()
			require.True(t, ok)
			assert.Equal(t, 2*time.Second, at.Sub(began))
			<-ctx.Done()
			assert.Equal(t, 2*time.Second, time.Since(began))
			return 0, ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestNothingToCutNeedsNoContext(t *testing.T) {
	_, err := sluice.Do(t.Context(), guarded(t, []string{"limit: 1/s"}), func(ctx context.Context) (int, error) {
		assert.Equal(t, t.Context(), ctx)
		return 0, nil
	})
	require.NoError(t, err)
}
