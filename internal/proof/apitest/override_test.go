package apitest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// TestRequestTimeout compares the timeout of a request with a deadline of the context.
func TestRequestTimeout(t *testing.T) {
	for _, steps := range [][]string{
		{"limit: 100/1s"},
		{"timeout: 30s", "retry: {attempts: 3, backoff: {constant: 5s}, jitter: none}", "timeout: 10s"},
		{"limit: {rate: 1/1h, burst: 1, wait: 2h}"},
		{"bulkhead: {concurrent: 1, wait: 1m}"},
		{"hedge: {after: 1s}"},
	} {
		var got [2][]string
		for i := range got {
			bubble(t, func(t *testing.T) {
				p := guarded(t, steps)
				j := listen(p)
				for _, fn := range []func(context.Context) (int, error){takes(time.Minute), fails, ok} {
					ctx, q := t.Context(), sluice.Request{Timeout: 3 * time.Second}
					if i == 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, 3*time.Second)
						defer cancel()
						q.Timeout = 0
					}
					_, err := sluice.DoWith(ctx, p, q, fn)
					if err != nil {
						j.lines = append(j.lines, err.Error())
					}
				}
				got[i] = j.all()
			})
		}
		assert.Equal(t, got[0], got[1])
		assert.Contains(t, strings.Join(got[1], "\n"), "\n3s ", steps)
	}
}

// TestRequestTimeoutAndDeadline checks that the earlier one counts.
func TestRequestTimeoutAndDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1"})
		for _, c := range [][2]time.Duration{{time.Second, time.Minute}, {time.Minute, time.Second}} {
			ctx, cancel := context.WithTimeout(t.Context(), c[0])
			began := time.Now()
			_, err := sluice.DoWith(ctx, p, sluice.Request{Timeout: c[1]}, takes(time.Hour))
			cancel()
			var late *sluice.TimeoutError
			require.ErrorAs(t, err, &late)
			assert.Equal(t, "deadline", late.Step)
			assert.Equal(t, time.Second, time.Since(began))
		}
		c, err := p.Begin(t.Context(), sluice.Request{Timeout: time.Second})
		require.NoError(t, err)
		<-c.Context().Done()
		assert.ErrorIs(t, c.Context().Err(), context.DeadlineExceeded)
		c.Release()
	})
}

// TestRequestAttempts bounds the attempts of a call.
func TestRequestAttempts(t *testing.T) {
	retries := "retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}"
	for _, c := range []struct {
		attempts uint32
		steps    []string
		want     []string
	}{
		{0, []string{retries}, []string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s retry 2 fail until 2s", "2s admit 3", "2s end 3 fail attempts"}},
		{1, []string{retries}, []string{"0s admit 1", "0s end 1 fail attempts"}},
		{2, []string{retries}, []string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s end 2 fail attempts"}},
		{9, []string{retries}, []string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s retry 2 fail until 2s", "2s admit 3", "2s end 3 fail attempts"}},
		{1, []string{retries, "bulkhead: {concurrent: 1, lease: 1m}"}, []string{"0s admit 1", "0s end 1 fail attempts"}},
		{1, []string{retries, "hedge: {after: 1s}"}, []string{"0s admit 1", "0s end 1 fail attempts"}},
		{1, []string{"bulkhead: 1"}, []string{"0s admit 1", "0s end 1 fail"}},
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, c.steps)
			j := listen(p)
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Attempts: c.attempts}, fails)
			require.ErrorIs(t, err, errBoom)
			var gaveUp *sluice.RetryError
			if c.steps[0] == retries {
				require.ErrorAs(t, err, &gaveUp)
				assert.Equal(t, reducer.ReasonAttempts, gaveUp.Reason)
			} else {
				require.NotErrorAs(t, err, &gaveUp)
			}
			assert.Equal(t, c.want, j.all())
		})
	}
}
