package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

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
