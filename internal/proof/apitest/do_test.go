package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// vendor is a policy with every mechanism.
var vendor = []string{
	"timeout: 30s",
	"retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}",
	"breaker: {window: {calls: 10}, minimum: 4, open: 10s, probes: 1}",
	"limit: {rate: 100/1s, burst: 100}",
	"bulkhead: 5",
	"timeout: 10s",
}

func TestDoReturnsWhatTheFunctionDoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, vendor)
		j := listen(p)
		value, err := sluice.Do(t.Context(), p, func(ctx context.Context) (string, error) {
			assert.Equal(t, "held 1/5", state(t, p, "bulkhead").Text)
			return "value", nil
		})
		require.NoError(t, err)
		assert.Equal(t, "value", value)
		assert.Len(t, j.all(), 2, "admit, end")
		assert.Equal(t, "held 0/5", state(t, p, "bulkhead").Text)
		assert.EqualValues(t, 99, state(t, p, "limit").Free)

		value, err = sluice.Do(t.Context(), p, func(context.Context) (string, error) { return "why", sluice.Ignore(errBoom) })
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, "why", value, "the value comes with the function's own error")
	})
}

func TestErrors(t *testing.T) {
	cases := []struct {
		name  string
		steps []string
		run   func(p *sluice.Pipeline) error
		check func(t *testing.T, err error)
	}{{
		"rejected", []string{"limit: 1/1m"},
		func(p *sluice.Pipeline) error { _, _ = sluice.Do(context.Background(), p, ok); return do(p, ok) },
		func(t *testing.T, err error) {
			var rejected *sluice.RejectedError
			require.ErrorAs(t, err, &rejected)
			require.ErrorIs(t, err, sluice.ErrRejected)
			assert.Equal(t, sluice.RejectedError{Policy: "p", Step: "limit", Reason: reducer.ReasonRate, RetryAfter: time.Minute}, *rejected)
			assert.EqualError(t, err, "sluice: p.limit: rejected: rate, retry after 1m0s")
		},
	}, {
		"timeout", []string{"timeout: 1s"},
		func(p *sluice.Pipeline) error { return do(p, takes(time.Minute)) },
		func(t *testing.T, err error) {
			var cut *sluice.TimeoutError
			require.ErrorAs(t, err, &cut)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.NotErrorIs(t, err, sluice.ErrRejected)
			assert.Equal(t, sluice.TimeoutError{Policy: "p", Step: "timeout", Err: context.DeadlineExceeded}, *cut)
			var timeout interface{ Timeout() bool }
			require.ErrorAs(t, err, &timeout)
			assert.True(t, timeout.Timeout())
			assert.EqualError(t, err, "sluice: p.timeout: timed out (last attempt: context deadline exceeded)")
		},
	}, {
		"retry", []string{"retry: {attempts: 2, backoff: none}"},
		func(p *sluice.Pipeline) error { return do(p, fails) },
		func(t *testing.T, err error) {
			var gaveUp *sluice.RetryError
			require.ErrorAs(t, err, &gaveUp)
			assert.Equal(t, sluice.RetryError{Policy: "p", Step: "retry", Reason: reducer.ReasonAttempts, Attempts: 2, Err: errBoom, Earlier: []error{errBoom}}, *gaveUp)
			assert.Equal(t, errBoom, errors.Unwrap(err), "the last attempt's own error")
			assert.EqualError(t, err, "sluice: p.retry: gave up after 2 attempts (attempts): boom")
		},
	}, {
		"own", []string{"retry: {attempts: 2, backoff: none}"},
		func(p *sluice.Pipeline) error {
			return do(p, func(context.Context) (int, error) { return 0, sluice.Ignore(&net.OpError{Err: errBoom}) })
		},
		func(t *testing.T, err error) {
			var own *net.OpError
			require.ErrorAs(t, err, &own)
			var gaveUp *sluice.RetryError
			assert.NotErrorAs(t, err, &gaveUp)
		},
	}, {
		"rejected on the way to another attempt", []string{"retry: {attempts: 2, backoff: none}", "limit: 1/1m"},
		func(p *sluice.Pipeline) error { return do(p, fails) },
		func(t *testing.T, err error) {
			require.ErrorIs(t, err, sluice.ErrRejected)
			require.ErrorIs(t, err, errBoom, "the last attempt's own error")
		},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { c.check(t, c.run(guarded(t, c.steps))) })
		})
	}
}

func do(p *sluice.Pipeline, fn func(context.Context) (int, error)) error {
	_, err := sluice.Do(context.Background(), p, fn)
	return err
}

func TestCallerWhoGaveUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 5, backoff: {constant: 10s}, jitter: none}", "limit: {rate: 1/1m, wait: 5m}"})
		j := listen(p)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		_, err := sluice.Do(ctx, p, fails)
		var gaveUp *sluice.CancelError
		require.ErrorAs(t, err, &gaveUp, "while it slept before the next attempt")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errBoom)
		assert.EqualError(t, err, "context canceled (last attempt: boom)")
		assert.Equal(t, []string{"0s admit 1", "0s retry 1 fail until 10s", "3s end 1 cancel"}, j.take())

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = sluice.Do(ctx, p, ok)
		assert.Equal(t, context.Canceled, err, "while it waited for the first")
		assert.Equal(t, []string{"3s wait 1 limit", "4s end cancel"}, j.take())

		_, err = sluice.Do(ctx, p, ok)
		assert.Equal(t, context.Canceled, err, "before it began")
		assert.Empty(t, j.take())
	})
}

func TestCancelledAttemptDoesNotVote(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, vendor)
		for range 10 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := sluice.Do(ctx, p, takes(time.Minute))
			require.ErrorIs(t, err, context.Canceled)
			var gaveUp *sluice.RetryError
			require.NotErrorAs(t, err, &gaveUp)
		}
		assert.Equal(t, "closed failed 0/0", state(t, p, "breaker").Text)

		// An error that looks like a cancellation is the attempt's own.
		_, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 0, context.Canceled })
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, "closed failed 3/3", state(t, p, "breaker").Text)
	})
}

func TestCost(t *testing.T) {
	p := guarded(t, []string{"limit: 5/1m"})
	call := func(cost uint32) error {
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Cost: cost}, ok)
		return err
	}
	require.NoError(t, call(3))
	require.ErrorIs(t, call(3), sluice.ErrRejected)
	require.NoError(t, call(2))
	require.NoError(t, call(sluice.NoCost))
	require.ErrorIs(t, call(0), sluice.ErrRejected, "one")
	var rejected *sluice.RejectedError
	require.ErrorAs(t, call(6), &rejected)
	assert.Equal(t, reducer.ReasonCapacity, rejected.Reason)
	assert.Negative(t, rejected.RetryAfter)
}

// outcomeOf is an error with any outcome.
type outcomeOf reducer.Outcome

func (outcomeOf) Error() string              { return "bad" }
func (o outcomeOf) Outcome() reducer.Outcome { return reducer.Outcome(o) }

// TestNoOutcome: what is no outcome is a failure, so that a function that has no word for an
// error does not stop retries and votes.
func TestNoOutcome(t *testing.T) {
	for _, none := range []reducer.Outcome{0, reducer.Cancelled + 1, 255} {
		for name, option := range map[string]sluice.Option{
			"classify": sluice.WithClassify(func(error) reducer.Outcome { return none }),
			"result":   sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return none }),
			"error":    nil,
		} {
			err := errors.New("bad")
			if name == "error" {
				err = outcomeOf(none)
			}
			p := guarded(t, []string{"retry: {attempts: 2, backoff: none}", "breaker: {window: {consecutive: 2}}"}, option)
			attempts := 0
			_ = sluice.Run(t.Context(), p, func(context.Context) error { attempts++; return err })
			assert.Equal(t, 2, attempts, name)
			assert.Equal(t, "open", p.State()[0].Mode, name)
			b, _ := sluice.NewBreaker(sluice.BreakerConfig{Window: sluice.WindowConsecutive, Count: 1}, option)
			_ = b.Do(t.Context(), func(context.Context) error { return err })
			assert.Equal(t, "open", b.Mode().String(), name)
		}
	}
	p := guarded(t, []string{"breaker: {window: {consecutive: 1}}"}, sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return reducer.Timeout }))
	_, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) { return 7, nil })
	assert.Equal(t, &sluice.ResultError{Result: reducer.Fail}, err, "the function's own timeout")
}

func TestClassify(t *testing.T) {
	p := guarded(t, []string{"breaker: {window: {consecutive: 1}, open: 1m}"}, sluice.WithClassify(func(err error) reducer.Outcome {
		return reducer.Throttle
	}))
	require.ErrorIs(t, do(p, fails), errBoom)
	require.ErrorIs(t, do(p, fails), errBoom, "a throttle does not vote")
	failure := func(context.Context) (int, error) { return 0, &wish{outcome: reducer.Fail} }
	require.Error(t, do(p, failure), "an Outcomer speaks for itself")
	require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
	require.NoError(t, sluice.Ignore(nil))
	require.NoError(t, sluice.Throttle(nil, 0))
}

func TestRefundsInReverse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"limit: {name: outer, rate: 10/1m}",
			"breaker: {window: {consecutive: 1}, open: 1m}",
			"bulkhead: {name: places, concurrent: 4}",
			"limit: {name: inner, rate: 5/1m, algorithm: fixed-window}",
			"bulkhead: {name: last, concurrent: 1}",
		})
		var refused error
		require.NoError(t, do(p, func(context.Context) (int, error) {
			refused = do(p, ok)
			return 0, nil
		}))
		var rejected *sluice.RejectedError
		require.ErrorAs(t, refused, &rejected)
		assert.Equal(t, "last", rejected.Step)
		assert.EqualValues(t, 9, state(t, p, "outer").Free)
		assert.EqualValues(t, 4, state(t, p, "places").Free)
		assert.EqualValues(t, 4, state(t, p, "inner").Free)
		assert.EqualValues(t, 1, state(t, p, "last").Free)
		assert.Equal(t, "closed failed 0 in a row", state(t, p, "breaker").Text)
	})
}

// TestFallbackIsReadable has a policy with a fallback end in every way.
func TestFallbackIsReadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, err := sluice.Parse("test.yaml", []byte("version: 1\npolicies: {p: {steps: [limit: 3/1h, bulkhead: {concurrent: 1, wait: 1s}], fallback: {body: later}}}"))
		require.NoError(t, err)
		p := set.Pipeline("p")
		var got []string
		p.Listen(func(e sluice.Event) {
			if e.Kind != sluice.EventAdmit && e.Kind != sluice.EventWait {
				got = append(got, fmt.Sprint(e.Kind, " ", e.Outcome, " ", e.Fallback))
			}
		})
		require.NoError(t, do(p, ok))
		require.ErrorIs(t, do(p, inside(p, ok)), sluice.ErrRejected)
		require.Error(t, do(p, func(context.Context) (int, error) { return 0, sluice.Ignore(errBoom) }))
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		assert.Equal(t, []string{"end ok false", "expire  true", "end throttle true", "end ignore false", "reject  true"}, got)
		assert.Equal(t, "later", p.Fallback().Body)
	})
}
