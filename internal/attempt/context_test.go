package attempt

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type key struct{}

var (
	errBoom = errors.New("boom")
	errCut  = errors.New("cut")
)

// attempted runs f as an attempt of 2 s and returns its context.
func attempted(parent context.Context, f func(ctx context.Context)) context.Context {
	return attemptedFor(parent, 2*time.Second, f)
}

func attemptedFor(parent context.Context, d time.Duration, f func(ctx context.Context)) context.Context {
	c := New(parent, Now().Add(d), DeadlineWith(errCut))
	defer c.End()
	f(c)
	return c
}

// inVirtualTime runs a test in a bubble of synctest.
func inVirtualTime(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestSize(t *testing.T) {
	assert.EqualValues(t, 32, unsafe.Sizeof(Context{}))
}

func TestDeadline(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		later, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		sooner, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for parent, want := range map[context.Context]time.Duration{t.Context(): 2 * time.Second, later: 2 * time.Second, sooner: time.Second} {
			began := time.Now()
			attempted(parent, func(ctx context.Context) {
				at, ok := ctx.Deadline()
				require.True(t, ok)
				assert.Equal(t, want, at.Sub(began))
				assert.WithinDuration(t, began.Add(want), at.Round(0), time.Microsecond, "by the wall clock")
			})
		}
	})
}

func TestDeadlineWithoutATimer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		ctx := attempted(t.Context(), func(ctx context.Context) {
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

func TestEndCancels(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		ctx := attempted(t.Context(), func(context.Context) {})
		assert.Equal(t, context.Canceled, ctx.Err())
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, context.Canceled, context.Cause(ctx))

		var done <-chan struct{}
		ctx = attempted(t.Context(), func(ctx context.Context) { done = ctx.Done() })
		<-done
		assert.Equal(t, context.Canceled, ctx.Err())
		time.Sleep(time.Minute)
		assert.Equal(t, context.Canceled, ctx.Err(), "the deadline comes too late")

		// Done for the first time at an end that has passed the deadline.
		ctx = attempted(t.Context(), func(ctx context.Context) { time.Sleep(time.Minute) })
		assert.Equal(t, context.Canceled, ctx.Err())
		<-ctx.Done()
		assert.Equal(t, context.Canceled, ctx.Err())
	})
}

func TestEndOfTheParent(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		attempted(parent, func(ctx context.Context) {
			assert.Equal(t, "value", ctx.Value(key{}))
			assert.Nil(t, ctx.Value("another"))
			done := ctx.Done()
			assert.Equal(t, "value", ctx.Value(key{}))
			cancel()
			<-done
			assert.Equal(t, context.Canceled, ctx.Err())
		})

		parent, cancel = context.WithCancel(t.Context())
		ctx := attempted(parent, func(ctx context.Context) {
			cancel()
			assert.Equal(t, context.Canceled, ctx.Err())
		})
		<-ctx.Done()

		parent, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		attempted(parent, func(ctx context.Context) {
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Equal(t, context.DeadlineExceeded, ctx.Err())
			<-ctx.Done()
		})
	})
}

func TestChildrenNeedNoGoroutine(t *testing.T) {
	var children []context.Context
	attempted(t.Context(), func(ctx context.Context) {
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

func TestDoneFromManyGoroutines(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		attempted(t.Context(), func(ctx context.Context) {
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
	inVirtualTime(t, func(t *testing.T) { f(t, t.Context()) })
	inVirtualTime(t, func(t *testing.T) { f(t, context.Background()) })
}

func TestChildren(t *testing.T) {
	underBoth(t, children)
}

func children(t *testing.T, parent context.Context) {
	var left, late context.Context
	ran := make(chan string, 9)
	ctx := attempted(parent, func(ctx context.Context) {
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

func TestParentWithAnErrorOfItsOwn(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	attempted(odd{parent}, func(ctx context.Context) {
		cancel(errBoom)
		require.ErrorIs(t, ctx.Err(), errOdd)
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), errOdd)
		assert.Equal(t, errBoom, context.Cause(ctx))
	})
}

// hooked is a context that calls a function when its Value is called.
type hooked struct {
	context.Context
	asked func()
}

func (h hooked) Value(key any) any {
	h.asked()
	return h.Context.Value(key)
}

// TestChildMadeDuringTheEnd has package context check whether the attempt
// has ended, and the attempt end before the child attaches to it.
func TestChildMadeDuringTheEnd(t *testing.T) {
	underBoth(t, func(t *testing.T, parent context.Context) {
		var armed atomic.Bool
		parent = hooked{parent, func() {
			if armed.CompareAndSwap(true, false) {
				time.Sleep(time.Minute)
			}
		}}
		attempted(parent, func(ctx context.Context) {
			ctx.Done()
			armed.Store(true)
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			assert.Equal(t, context.DeadlineExceeded, child.Err())
		})
	})
}

func TestChildrenBelowAValue(t *testing.T) {
	underBoth(t, func(t *testing.T, parent context.Context) {
		var children []context.Context
		attempted(parent, func(ctx context.Context) {
			for range 10 {
				child, cancel := context.WithCancel(context.WithValue(ctx, key{}, "value"))
				defer cancel()
				children = append(children, child)
			}
			time.Sleep(time.Minute)
		})
		for _, child := range children {
			<-child.Done()
			assert.Equal(t, context.DeadlineExceeded, child.Err())
			assert.Equal(t, errCut, context.Cause(child))
		}
	})
}

func TestDoneAfterTheDeadline(t *testing.T) {
	underBoth(t, func(t *testing.T, parent context.Context) {
		attempted(parent, func(ctx context.Context) {
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
	attempted(parent, func(ctx context.Context) {
		child, stop := context.WithCancel(ctx)
		defer stop()
		done := ctx.Done()
		cancel(errBoom)
		assert.Equal(t, context.Canceled, ctx.Err())
		assert.Equal(t, errBoom, context.Cause(ctx))
		<-done
		<-child.Done()
		assert.Equal(t, context.Canceled, child.Err())
		assert.Equal(t, errBoom, context.Cause(child))
	})
}

func TestCauseStays(t *testing.T) {
	for _, asked := range []bool{false, true} {
		inVirtualTime(t, func(t *testing.T) {
			parent, cancel := context.WithCancelCause(t.Context())
			attempted(parent, func(ctx context.Context) {
				if asked {
					ctx.Done()
				}
				time.Sleep(time.Minute)
				assert.Equal(t, errCut, context.Cause(ctx))
				cancel(errBoom)
				synctest.Wait()
				assert.Equal(t, errCut, context.Cause(ctx))
			})
		})
	}
}

// TestTimersAreUsedAgain has attempts inside and outside of bubbles ask for
// Done: a timer of a bubble must not be used outside it.
func TestTimersAreUsedAgain(t *testing.T) {
	asks := func(ctx context.Context) { ctx.Done() }
	for range 3 {
		for range 5 {
			attempted(context.Background(), asks)
		}
		inVirtualTime(t, func(t *testing.T) {
			attempted(context.Background(), asks)
			attempted(context.Background(), func(ctx context.Context) {
				<-ctx.Done()
				assert.Equal(t, context.DeadlineExceeded, ctx.Err())
				assert.Equal(t, errCut, context.Cause(ctx))
			})
			time.Sleep(40 * 365 * 24 * time.Hour) // beyond the time outside
			attempted(context.Background(), asks)
		})
	}
}

// TestTimerOfAnEarlierDeadline has a timer fire that was set for the context
// before, with an earlier deadline.
func TestTimerOfAnEarlierDeadline(t *testing.T) {
	ctx := attempted(context.Background(), func(ctx context.Context) { ctx.Done() }).(*Context)
	next := New(context.Background(), Now().Add(time.Hour), DeadlineWith(errCut))
	defer next.End()
	next.Done()
	timer := next.load().timer
	timer.fire()
	require.NoError(t, next.Err(), "ended early")
	assert.EqualValues(t, next.deadline, timer.at.Load(), "set for the rest")
	assert.Equal(t, context.Canceled, ctx.Err())
}

// TestParentThatEndedFirst has a context end for a reason of its own after its
// parent closed the channel of Done.
func TestParentThatEndedFirst(t *testing.T) {
	parent, cancel := context.WithCancelCause(context.Background())
	ctx := attempted(parent, func(ctx context.Context) {
		done := ctx.Done()
		cancel(errBoom)
		<-done
	})
	assert.Equal(t, context.Canceled, ctx.Err())
	assert.Equal(t, errBoom, context.Cause(ctx))
}
