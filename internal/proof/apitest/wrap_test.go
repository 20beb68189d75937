package apitest_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/retry"
)

// TestWrap calls every kind of function under every kind of guard.
func TestWrap(t *testing.T) {
	for _, g := range []sluice.Guard{
		guarded(t, []string{"timeout: 1m"}), limited(t, rate(100, time.Second)), broken(t, breakerConfig()),
		walled(t, places(1, 0)), retrier(t, retry.Config{Attempts: 1, Backoff: constant(time.Second)}),
	} {
		ctx := t.Context()
		value, err := sluice.Wrap(g, func(context.Context) (string, error) { return "none", nil })(ctx)
		require.NoError(t, err)
		assert.Equal(t, "none", value)
		value, err = sluice.Wrap1(g, func(_ context.Context, n int) (string, error) { return strconv.Itoa(n), nil })(ctx, 7)
		require.NoError(t, err)
		assert.Equal(t, "7", value)
		value, err = sluice.Wrap2(g, func(_ context.Context, n int, unit string) (string, error) { return strconv.Itoa(n) + unit, nil })(ctx, 7, "ms")
		require.NoError(t, err)
		assert.Equal(t, "7ms", value)
		sum := 0
		require.ErrorIs(t, sluice.WrapRun(g, func(context.Context) error { sum++; return errBoom })(ctx), errBoom)
		require.NoError(t, sluice.WrapRun1(g, func(_ context.Context, n int) error { sum += n; return nil })(ctx, 10))
		require.NoError(t, sluice.WrapRun2(g, func(_ context.Context, a, b int) error { sum += a * b; return nil })(ctx, 10, 10))
		assert.Equal(t, 111, sum)
	}
}

// TestWrapIsGuarded refuses wrapped functions, and functions of a guard that is nil.
func TestWrapIsGuarded(t *testing.T) {
	p := guarded(t, []string{"limit: 1/1h"})
	f := sluice.Wrap1(p, func(_ context.Context, n int) (int, error) { return n, nil })
	_, err := f(t.Context(), 1)
	require.NoError(t, err)
	_, err = f(t.Context(), 1)
	require.ErrorIs(t, err, sluice.ErrRejected)
	require.ErrorIs(t, sluice.WrapRun(p, good)(t.Context()), sluice.ErrRejected)
	var unknown *sluice.UnknownPolicyError
	_, err = sluice.Wrap(nil, ok)(t.Context())
	require.ErrorAs(t, err, &unknown)
	require.ErrorAs(t, sluice.WrapRun(nil, good)(t.Context()), &unknown)
}

// TestWrapWith gives each customer a limit of its own.
func TestWrapWith(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 3/1h, per: key}"})
	of := func(customer string) sluice.Request { return sluice.Request{Key: customer} }
	one := sluice.WrapWith1(p, of, func(_ context.Context, customer string) (string, error) { return "hello " + customer, nil })
	two := sluice.WrapWith2(p, func(customer string, n uint32) sluice.Request { return sluice.Request{Key: customer, Cost: n} },
		func(_ context.Context, customer string, n uint32) (uint32, error) { return n, nil })
	value, err := one(t.Context(), "ann")
	require.NoError(t, err)
	assert.Equal(t, "hello ann", value)
	n, err := two(t.Context(), "ann", 2)
	require.NoError(t, err)
	assert.EqualValues(t, 2, n)
	_, err = one(t.Context(), "ann")
	require.ErrorIs(t, err, sluice.ErrRejected)
	_, err = one(t.Context(), "ben")
	require.NoError(t, err)
	_, err = sluice.WrapWith(p, of("ann"), ok)(t.Context())
	require.ErrorIs(t, err, sluice.ErrRejected)
}
