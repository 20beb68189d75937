package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// TestRunDecidesAsDo takes the same calls through Run and Do, on the fast path and off it.
func TestRunDecidesAsDo(t *testing.T) {
	for _, steps := range [][]string{
		vendor,
		{"limit: 2/1h"},
		{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "bulkhead: {concurrent: 1, lease: 1m}"},
		{"hedge: {after: 1s}"},
	} {
		var got [2][]string
		for i := range got {
			bubble(t, func(t *testing.T) {
				p := guarded(t, steps)
				j := listen(p)
				for _, fn := range []func(context.Context) (int, error){ok, fails, ok, takes(time.Minute)} {
					var err error
					if i == 0 {
						_, err = sluice.Do(t.Context(), p, fn)
					} else {
						err = sluice.Run(t.Context(), p, func(ctx context.Context) error { _, err := fn(ctx); return err })
					}
					line := "<nil>"
					if err != nil {
						line = err.Error()
					}
					got[i] = append(got[i], line)
				}
				got[i] = append(got[i], j.all()...)
			})
		}
		assert.Equal(t, got[0], got[1])
	}
}

func TestRunWith(t *testing.T) {
	p := guarded(t, []string{"limit: {rate: 1/1h, per: key}"})
	for key, want := range map[string]error{"a": nil, "b": nil} {
		require.Equal(t, want, sluice.RunWith(t.Context(), p, sluice.Request{Key: key}, good))
	}
	require.ErrorIs(t, sluice.RunWith(t.Context(), p, sluice.Request{Key: "a"}, good), sluice.ErrRejected)
	var unknown *sluice.UnknownPolicyError
	require.ErrorAs(t, sluice.Run(t.Context(), nil, good), &unknown)
}

func TestRunReleasesAfterAPanic(t *testing.T) {
	p := guarded(t, []string{"breaker: {window: {consecutive: 1}, open: 1h}", "bulkhead: 1"})
	assert.Equal(t, "boom", recovered(func() { _ = sluice.Run(t.Context(), p, func(context.Context) error { panic("boom") }) }))
	assert.EqualValues(t, 1, state(t, p, "bulkhead").Free)
	require.ErrorIs(t, sluice.Run(t.Context(), p, good), sluice.ErrRejected, "a panic is a failure")
}

func TestRunAllocatesAsDo(t *testing.T) {
	ctx := context.Background()
	p := guarded(t, []string{"retry: 3", "limit: 1000000000/1s", "bulkhead: 100"})
	places := 0
	allocates(t, 1, "the closure of the caller alone", func() {
		_ = sluice.Run(ctx, p, func(context.Context) error { places++; return nil })
	})
	allocates(t, 0, "Run", func() { _ = sluice.Run(ctx, p, good) })
}
