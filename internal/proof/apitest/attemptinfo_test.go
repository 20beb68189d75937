package apitest_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/retry"
)

// seen is a function that fails until its third attempt, and notes what it knows of them.
func seen(all *[]sluice.AttemptInfo) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		info, ok := sluice.AttemptInfoOf(ctx)
		if !ok {
			return 0, sluice.Ignore(errors.New("no info"))
		}
		*all = append(*all, info)
		time.Sleep(time.Second)
		if info.Number < 3 {
			return 0, errBoom
		}
		return 1, nil
	}
}

func TestAttemptInfo(t *testing.T) {
	for name, c := range map[string]struct {
		steps   []string
		q       sluice.Request
		options []sluice.Option
		within  time.Duration // deadline of an attempt after its beginning, 0 for none
	}{
		"option":     {[]string{"retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}"}, sluice.Request{}, []sluice.Option{sluice.WithAttemptInfo()}, 0},
		"request":    {[]string{"retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}", "timeout: 5s"}, sluice.Request{Informed: true}, nil, 5 * time.Second},
		"held":       {[]string{"retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}", "timeout: 5s"}, sluice.Request{Informed: true, Holdable: true}, nil, 5 * time.Second},
		"with lease": {[]string{"retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}", "bulkhead: {concurrent: 1, lease: 1m}"}, sluice.Request{Informed: true}, nil, 0},
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, c.steps, c.options...)
			began := time.Now()
			var got []sluice.AttemptInfo
			value, err := sluice.DoWith(t.Context(), p, c.q, seen(&got))
			require.NoError(t, err, name)
			assert.Equal(t, 1, value)
			for i, at := range []time.Duration{0, 3 * time.Second, 6 * time.Second} {
				want := sluice.AttemptInfo{Number: uint32(i + 1), Elapsed: at}
				if i > 0 {
					want.LastError = errBoom
				}
				if c.within > 0 {
					want.Deadline = began.Add(at + c.within)
				}
				assert.WithinDuration(t, want.Deadline, got[i].Deadline, 0, name)
				got[i].Deadline = want.Deadline
				assert.Equal(t, want, got[i], name)
			}
		})
	}
}

func TestAttemptInfoWithoutIt(t *testing.T) {
	_, ok := sluice.AttemptInfoOf(t.Context())
	assert.False(t, ok)
	p := guarded(t, []string{"timeout: 1s"})
	_, err := sluice.Do(t.Context(), p, func(ctx context.Context) (int, error) {
		_, ok := sluice.AttemptInfoOf(ctx)
		assert.False(t, ok)
		return 0, nil
	})
	require.NoError(t, err)
}

// TestAttemptInfoNests checks that an inner call without info leaves the info and the leases of
// the outer one.
func TestAttemptInfoNests(t *testing.T) {
	outer := guarded(t, []string{"bulkhead: {concurrent: 1, lease: 1m}"}, sluice.WithAttemptInfo())
	for _, options := range [][]sluice.Option{nil, {sluice.WithAttemptInfo()}} {
		inner := guarded(t, []string{"retry: 3"}, options...)
		runs := uint32(0)
		_, err := sluice.Do(t.Context(), outer, inside(inner, func(ctx context.Context) (int, error) {
			info, ok := sluice.AttemptInfoOf(ctx)
			require.True(t, ok)
			assert.True(t, sluice.Renew(ctx), "the lease of the outer call")
			if runs++; options != nil {
				assert.Equal(t, runs, info.Number)
			} else {
				assert.EqualValues(t, 1, info.Number)
			}
			return 0, nil
		}))
		require.NoError(t, err)
	}
}

func TestAttemptInfoOfRetrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, err := sluice.NewRetry(retry.Config{Attempts: 3, Backoff: constant(2 * time.Second)}, sluice.WithAttemptInfo())
		require.NoError(t, err)
		var got []sluice.AttemptInfo
		_, err = sluice.Retry(t.Context(), r, seen(&got))
		require.NoError(t, err)
		assert.Equal(t, []sluice.AttemptInfo{
			{Number: 1}, {Number: 2, LastError: errBoom, Elapsed: 3 * time.Second}, {Number: 3, LastError: errBoom, Elapsed: 6 * time.Second},
		}, got)
	})
}

func TestAttemptInfoOfBegin(t *testing.T) {
	for _, steps := range [][]string{{"timeout: 5s"}, {"bulkhead: {concurrent: 1, wait: 1s}"}} {
		c, err := guarded(t, steps, sluice.WithAttemptInfo()).Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		info, ok := sluice.AttemptInfoOf(c.Context())
		require.True(t, ok)
		assert.EqualValues(t, 1, info.Number)
		c.Release()
	}
}

// TestInformedContextEnds derives a context from the context of an informed attempt.
func TestInformedContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: 1s"}, sluice.WithAttemptInfo())
		began := time.Now()
		_, err := sluice.Do(t.Context(), p, func(ctx context.Context) (int, error) {
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			assert.Equal(t, time.Second, time.Since(began))
			var late *sluice.TimeoutError
			require.ErrorAs(t, context.Cause(child), &late)
			return 0, child.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// delaying waits a second longer after each attempt, and notes what it knows of them.
func delaying(all *[]sluice.AttemptInfo) sluice.Option {
	return sluice.WithDelay(func(i sluice.AttemptInfo) time.Duration {
		*all = append(*all, i)
		return time.Duration(i.Number) * time.Second
	})
}

func TestDelay(t *testing.T) {
	info := func(n uint32, elapsed time.Duration) sluice.AttemptInfo {
		return sluice.AttemptInfo{Number: n, LastError: errBoom, Elapsed: elapsed}
	}
	for name, c := range map[string]struct {
		steps []string
		fn    func(context.Context) (int, error)
		log   []string
		asked []sluice.AttemptInfo
	}{
		"alone": {
			[]string{"retry: {attempts: 3, backoff: none}"}, fails,
			[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s retry 2 fail until 3s", "3s admit 3", "3s end 3 fail attempts"},
			[]sluice.AttemptInfo{info(1, 0), info(2, time.Second), info(3, 3*time.Second)},
		},
		"the backoff is longer": {
			[]string{"retry: {attempts: 2, backoff: {constant: 5s}, jitter: none}"}, fails,
			[]string{"0s admit 1", "0s retry 1 fail until 5s", "5s admit 2", "5s end 2 fail attempts"},
			[]sluice.AttemptInfo{info(1, 0), info(2, 5*time.Second)},
		},
		"it reaches the deadline": {
			[]string{"timeout: 1s", "retry: {attempts: 2, backoff: none}"}, fails,
			[]string{"0s admit 1", "0s end 1 fail deadline"},
			[]sluice.AttemptInfo{info(1, 0)},
		},
		"no retry": {
			[]string{"timeout: 1s"}, fails, []string{"0s admit 1", "0s end 1 fail"}, nil,
		},
		"an answer that asks for no retry": {
			[]string{"retry: {attempts: 2, backoff: none}"},
			func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, -1) },
			[]string{"0s admit 1", "0s end 1 throttle pushback"}, nil,
		},
		"a success": {
			[]string{"retry: {attempts: 2, backoff: none}"}, ok, []string{"0s admit 1", "0s end 1 ok"}, nil,
		},
		"a hedge": {
			[]string{"retry: {attempts: 2, backoff: none}", "hedge: {after: 1s}"},
			func(context.Context) (int, error) { time.Sleep(2 * time.Second); return 0, errBoom },
			[]string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "2s failed 1 fail", "3s retry 2 fail until 5s", "5s admit 3", "6s hedge 4 hedge", "6s admit 4", "7s failed 3 fail", "8s end 4 fail attempts"},
			[]sluice.AttemptInfo{info(1, 2*time.Second), {Number: 2, Hedge: true, LastError: errBoom, Elapsed: 3 * time.Second}, info(3, 7*time.Second), {Number: 4, Hedge: true, LastError: errBoom, Elapsed: 8 * time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var asked []sluice.AttemptInfo
				p := guarded(t, c.steps, delaying(&asked))
				j := listen(p)
				_ = do(p, c.fn)
				assert.Equal(t, c.log, j.all())
				assert.Equal(t, c.asked, asked)
			})
		})
	}
	bubble(t, func(t *testing.T) {
		var asked []sluice.AttemptInfo
		r, err := sluice.NewRetry(retry.Config{Attempts: 3}, delaying(&asked))
		require.NoError(t, err)
		began := time.Now()
		_, err = sluice.Retry(t.Context(), r, fails)
		require.Error(t, err)
		assert.Equal(t, 3*time.Second, time.Since(began))
		assert.Equal(t, []sluice.AttemptInfo{info(1, 0), info(2, time.Second), info(3, 3*time.Second)}, asked)
		_, err = sluice.NewLimiter(sluice.LimiterConfig{Count: 1, Period: time.Second}, delaying(nil))
		require.EqualError(t, err, "sluice: WithDelay has no effect on a Limiter")
		r, err = sluice.NewRetry(retry.Config{Attempts: 2}, sluice.WithDelay(func(sluice.AttemptInfo) time.Duration { return -time.Second }))
		require.NoError(t, err)
		_, err = sluice.Retry(t.Context(), r, fails)
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, sluice.ReasonAttempts, gaveUp.Reason)
	})
}

// A trace has the delays of WithDelay, from which eval decides the same.
func TestDelayIsTraced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var asked []sluice.AttemptInfo
		p := guarded(t, []string{"timeout: 3s", "retry: {attempts: 5, backoff: {constant: 500ms}, jitter: none, budget: {tokens: 20}}"}, delaying(&asked), sluice.WithSeed(3))
		var out bytes.Buffer
		tr, err := p.Trace(sluice.TraceOptions{Writer: &out, Redact: sluice.RedactNone})
		require.NoError(t, err)
		require.Error(t, do(p, fails))
		require.NoError(t, do(p, ok))
		require.NoError(t, tr.Stop())
		r := apart(t, out.String())
		assert.Len(t, asked, 2)
		assert.Contains(t, r.decisions, `"reason":"deadline"`)
		assert.Equal(t, evaluatedAgain(t, r), r.decisions)
	})
}
