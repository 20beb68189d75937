package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// numbered is the error of an attempt.
type numbered struct{ n int }

func (e numbered) Error() string { return fmt.Sprint("attempt ", e.n) }

// gaveUp makes attempts that fail each with an error of its own, under a pipeline and under
// a Retrier.
func gaveUp(t *testing.T, attempts uint32, of func(n int) error, check func(*testing.T, *sluice.RetryError)) {
	c := sluice.RetryConfig{Attempts: attempts, Backoff: sluice.BackoffConfig{Kind: sluice.BackoffConstant, Base: time.Second}}
	retrier := must(sluice.NewRetry(c))
	pipeline := must(sluice.New(sluice.Policy{Name: "p", Steps: []sluice.Step{{Config: c}}}))
	for name, guard := range map[string]sluice.Guard{"retrier": retrier, "pipeline": pipeline} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				err := sluice.WrapRun(guard, func(context.Context) error {
					n++
					return of(n)
				})(t.Context())
				var retry *sluice.RetryError
				require.ErrorAs(t, err, &retry)
				check(t, retry)
			})
		})
	}
}

func TestEarlierErrors(t *testing.T) {
	for attempts, earlier := range map[uint32][]int{1: nil, 2: {1}, 3: {1, 2}, 5: {1, 2, 3, 4}, 6: {1, 2, 4, 5}, 7: {1, 2, 5, 6}, 30: {1, 2, 28, 29}} {
		gaveUp(t, attempts, func(n int) error { return numbered{n} }, func(t *testing.T, err *sluice.RetryError) {
			var found []int
			for _, e := range err.Earlier {
				found = append(found, e.(numbered).n)
			}
			assert.Equal(t, earlier, found, attempts)
			assert.Equal(t, numbered{int(attempts)}, err.Err)
			for _, n := range earlier {
				assert.ErrorIs(t, err, numbered{n})
			}
			var last numbered
			require.ErrorAs(t, err, &last)
			assert.Equal(t, int(attempts), last.n, "the last one comes first")
		})
	}
}

// TestEarlierErrorsByType finds an error type of an attempt before the last one. The type is not of this
// module, whose own types ask how the call ended.
func TestEarlierErrorsByType(t *testing.T) {
	gaveUp(t, 4, func(n int) error {
		if n == 2 || n == 3 {
			return &strconv.NumError{Err: numbered{n}}
		}
		return numbered{n}
	}, func(t *testing.T, err *sluice.RetryError) {
		var found *strconv.NumError
		require.ErrorAs(t, err, &found)
		assert.Equal(t, numbered{3}, found.Err, "of several the latest one")
		assert.NotErrorIs(t, err, numbered{5})
	})
}

// TestEarlierErrorsDoNotDecide has an attempt time out, one be refused and one be throttled
// before the last one, which fails: that is how the call ended.
func TestEarlierErrorsDoNotDecide(t *testing.T) {
	gaveUp(t, 4, func(n int) error {
		return []error{
			&sluice.TimeoutError{Step: "inner"}, &sluice.RejectedError{Step: "inner", RetryAfter: -1}, sluice.Throttle(net.ErrClosed, 0), numbered{4},
		}[n-1]
	}, func(t *testing.T, err *sluice.RetryError) {
		require.Len(t, err.Earlier, 3)
		assert.NotErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, sluice.ErrRejected)
		assert.NotErrorIs(t, err, sluice.ErrInjected)
		assert.ErrorIs(t, err, net.ErrClosed, "what the function itself returned")
		var (
			rejected *sluice.RejectedError
			timeout  *sluice.TimeoutError
			marked   *sluice.OutcomeError
			outcomer sluice.Outcomer
			slow     interface{ Timeout() bool }
		)
		for _, target := range []any{&rejected, &timeout, &marked, &outcomer, &slow} {
			assert.False(t, errors.As(err, target), "%T", target)
		}
	})
}

// TestEarlierErrorsOfARound has the first attempt of a round fail while its hedge runs.
func TestEarlierErrorsOfARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(sluice.New(sluice.Policy{Name: "p", Steps: []sluice.Step{
			{Config: sluice.RetryConfig{Attempts: 2, Backoff: sluice.BackoffConfig{Kind: sluice.BackoffConstant, Base: time.Second}}},
			{Config: sluice.HedgeConfig{After: time.Second, Max: 1, Unbudgeted: true}},
		}}))
		err := sluice.Run(t.Context(), p, func(ctx context.Context) error {
			number, _, _ := sluice.AttemptOf(ctx)
			time.Sleep(3 * time.Second)
			return numbered{int(number)}
		})
		var retry *sluice.RetryError
		require.ErrorAs(t, err, &retry)
		for n := 1; n <= 4; n++ {
			assert.ErrorIs(t, err, numbered{n})
		}
		assert.Equal(t, []error{numbered{1}, numbered{2}, numbered{3}}, retry.Earlier)
	})
}

// TestNoEarlierErrors allocates nothing for errors that no caller gets: what is left are two
// allocations for the classification of each.
func TestNoEarlierErrors(t *testing.T) {
	r := must(sluice.NewRetry(sluice.RetryConfig{Attempts: 3, Backoff: sluice.BackoffConfig{Kind: sluice.BackoffNone}}))
	n := 0
	fails := func(context.Context) error {
		if n++; n%3 != 0 {
			return errBoom
		}
		return nil
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _ = r.Do(t.Context(), fails) }), 4.0)
}

// TestOutcomeError returns a marked error in a type that callers can name.
func TestOutcomeError(t *testing.T) {
	p := must(sluice.New(sluice.Policy{Name: "p", Steps: []sluice.Step{{Config: sluice.RetryConfig{Attempts: 3}}}}))
	err := sluice.Run(t.Context(), p, func(context.Context) error { return sluice.Ignore(net.ErrClosed) })
	assert.EqualError(t, err, net.ErrClosed.Error())
	assert.ErrorIs(t, err, net.ErrClosed)
	var marked *sluice.OutcomeError
	require.ErrorAs(t, err, &marked)
	assert.Equal(t, sluice.OutcomeError{Err: net.ErrClosed, Result: sluice.OutcomeIgnore}, *marked)
	_, told := marked.RetryAfter()
	assert.False(t, told)
	assert.Equal(t, "sluice: ignore", (&sluice.OutcomeError{Result: sluice.OutcomeIgnore}).Error())

	require.ErrorAs(t, sluice.Throttle(net.ErrClosed, time.Second), &marked)
	assert.Equal(t, sluice.OutcomeError{Err: net.ErrClosed, Result: sluice.OutcomeThrottle, After: time.Second}, *marked)
}
