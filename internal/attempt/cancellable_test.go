package attempt

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
)

func newCancellable(parent context.Context, after time.Duration) *Cancellable {
	at := clock.Never
	if after > 0 {
		at = Now().Add(after)
	}
	c := &Cancellable{}
	c.Init(parent, at, errCut)
	return c
}

// TestCancellableEnds has contexts end in each way, whether or not Done was called
// before.
func TestCancellableEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end        func(c *Cancellable, cancel context.CancelCauseFunc)
		err, cause error
	}{
		"cancelled":              {func(c *Cancellable, _ context.CancelCauseFunc) { c.Cancel(nil) }, context.Canceled, context.Canceled},
		"cancelled with a cause": {func(c *Cancellable, _ context.CancelCauseFunc) { c.Cancel(errBoom) }, context.Canceled, errBoom},
		"expired":                {func(c *Cancellable, _ context.CancelCauseFunc) { c.Expire() }, context.DeadlineExceeded, errCut},
		"at the deadline":        {func(*Cancellable, context.CancelCauseFunc) { time.Sleep(time.Second) }, context.DeadlineExceeded, errCut},
		"with the parent":        {func(_ *Cancellable, cancel context.CancelCauseFunc) { cancel(errBoom) }, context.Canceled, errBoom},
		"lifted":                 {func(c *Cancellable, _ context.CancelCauseFunc) { c.Lift(); time.Sleep(time.Hour) }, nil, nil},
		"lifted too late":        {func(c *Cancellable, _ context.CancelCauseFunc) { time.Sleep(time.Second); c.Lift() }, context.DeadlineExceeded, errCut},
		"not yet":                {func(*Cancellable, context.CancelCauseFunc) { time.Sleep(time.Second - 1) }, nil, nil},
	} {
		for _, before := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T) {
					parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
					defer cancel(nil)
					ctx := newCancellable(parent, time.Second)
					defer ctx.Cancel(nil)
					if before {
						ctx.Done()
					}
					require.NoError(t, ctx.Err())
					c.end(ctx, cancel)
					synctest.Wait()
					assert.Equal(t, c.err, ctx.Err())
					assert.Equal(t, c.cause, context.Cause(ctx))
					assert.Equal(t, "value", ctx.Value(key{}))
					select {
					case <-ctx.Done():
						assert.Error(t, c.err)
					default:
						assert.NoError(t, c.err)
					}
					ctx.Cancel(context.DeadlineExceeded)
					ctx.Expire()
					if c.err != nil {
						assert.Equal(t, c.err, ctx.Err(), "the first end stays")
						assert.Equal(t, c.cause, context.Cause(ctx))
					}
				})
			})
		}
	}
}

// TestCancellableDeadline is the sooner one of its own and the parent's.
func TestCancellableDeadline(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		start := time.Now()
		_, ok := newCancellable(t.Context(), 0).Deadline()
		assert.False(t, ok)
		parent, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for after, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Second, time.Hour: time.Minute} {
			c := newCancellable(parent, after)
			at, ok := c.Deadline()
			assert.True(t, ok)
			assert.Equal(t, want, at.Sub(start))
			c.Lift()
			at, _ = c.Deadline()
			assert.Equal(t, time.Minute, at.Sub(start))
		}
	})
}

// TestCancellableChildren are contexts of package context, which need no goroutine.
func TestCancellableChildren(t *testing.T) {
	inVirtualTime(t, func(t *testing.T) {
		outer := newCancellable(t.Context(), 0)
		inner := newCancellable(outer, time.Second)
		child, cancel := context.WithCancel(context.WithValue(inner, key{}, "value"))
		defer cancel()
		outer.Cancel(errBoom)
		<-child.Done()
		assert.Equal(t, errBoom, context.Cause(child))
		assert.Equal(t, errBoom, context.Cause(inner))
	})
}

// TestHooks has a hook that a chain of contexts calls.
func TestHooks(t *testing.T) {
	for name, c := range map[string]struct {
		end    func(outer, inner *Cancellable, parent context.CancelFunc)
		follow bool
		called bool
	}{
		"the inner one is cancelled":     {func(_, inner *Cancellable, _ context.CancelFunc) { inner.Cancel(nil) }, false, true},
		"the outer one is cancelled":     {func(outer, _ *Cancellable, _ context.CancelFunc) { outer.Cancel(nil) }, false, true},
		"the parent ends":                {func(_, _ *Cancellable, parent context.CancelFunc) { parent() }, true, true},
		"the parent ends unfollowed":     {func(_, _ *Cancellable, parent context.CancelFunc) { parent() }, false, false},
		"all end, inner ones first":      {func(o, i *Cancellable, parent context.CancelFunc) { i.Cancel(nil); o.Cancel(nil); parent() }, true, true},
		"none ends":                      {func(_, _ *Cancellable, _ context.CancelFunc) {}, true, false},
		"the deadline comes, unnoticed":  {func(_, _ *Cancellable, _ context.CancelFunc) { time.Sleep(time.Second) }, true, false},
		"the deadline of one is lifted":  {func(_, inner *Cancellable, _ context.CancelFunc) { inner.Lift() }, true, false},
		"the inner one expires by order": {func(_, inner *Cancellable, _ context.CancelFunc) { inner.Expire() }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				outer := newCancellable(parent, 0)
				inner := newCancellable(outer, time.Second)
				var calls atomic.Int32
				h := &Hook{F: func() { calls.Add(1) }}
				require.True(t, inner.Attach(h))
				assert.False(t, inner.Attach(&Hook{}), "there is one")
				assert.False(t, newCancellable(outer, 0).Attach(&Hook{}), "there is one below")
				if c.follow {
					inner.Follow()
					inner.Follow()
				}
				c.end(outer, inner, cancel)
				synctest.Wait()
				assert.Equal(t, c.called, calls.Load() > 0)
				assert.Equal(t, !c.called, inner.Detach(h))
				before := calls.Load()
				outer.Cancel(nil)
				cancel()
				synctest.Wait()
				assert.Equal(t, before, calls.Load(), "it is detached")
			})
		})
	}
}

// TestHookOfAnotherRequest is attached where the one before was detached.
func TestHookOfAnotherRequest(t *testing.T) {
	c := newCancellable(t.Context(), 0)
	var first, second atomic.Int32
	a, b := &Hook{F: func() { first.Add(1) }}, &Hook{F: func() { second.Add(1) }}
	require.True(t, c.Attach(a))
	require.True(t, c.Detach(a))
	require.False(t, c.Detach(a))
	require.True(t, c.Attach(b))
	c.Cancel(nil)
	assert.EqualValues(t, 0, first.Load())
	assert.EqualValues(t, 1, second.Load())
}

// TestCancellableThatIsAskedLate has two deadlines pass before it is asked which came.
func TestCancellableThatIsAskedLate(t *testing.T) {
	for own, want := range map[time.Duration]error{time.Second: errCut, 3 * time.Second: errBoom} {
		inVirtualTime(t, func(t *testing.T) {
			parent, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errBoom)
			defer cancel()
			c := newCancellable(parent, own)
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Equal(t, context.DeadlineExceeded, c.Err())
			assert.Equal(t, want, context.Cause(c))
			<-c.Done()
		})
	}
}
