package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

// TestExtend has an attempt whose function returns at once and that is done later.
func TestExtend(t *testing.T) {
	const retried, note = "retry: {attempts: 3, backoff: none}", " the value of the attempt has been returned"
	steps := []string{retried, "breaker: {window: {calls: 1}, minimum: 1, slow: {over: 2s, rate: 100%}, open: 1h}", "bulkhead: 1", "timeout: 5s"}
	for name, c := range map[string]struct {
		after   time.Duration // done is called
		outcome reducer.Outcome
		stalled bool
		log     []string
		mode    string
		cut     bool
	}{
		"ok":                   {time.Second, reducer.OK, false, []string{"0s admit 1", "1s end 1 ok"}, "closed", false},
		"slow":                 {3 * time.Second, reducer.OK, false, []string{"0s admit 1", "3s breaker open", "3s end 1 ok"}, "open", false},
		"failed":               {time.Second, reducer.Fail, false, []string{"0s admit 1", "1s breaker open", "1s end 1 fail" + note}, "open", false},
		"cancelled":            {3 * time.Second, reducer.Cancelled, false, []string{"0s admit 1", "3s end 1 cancel"}, "closed", false},
		"cut":                  {7 * time.Second, reducer.Fail, false, []string{"0s admit 1", "5s timeout 1 timeout", "5s breaker open", "5s end 1 timeout" + note}, "open", true},
		"cut, of a late value": {7 * time.Second, reducer.OK, false, []string{"0s admit 1", "5s timeout 1 timeout", "5s breaker open", "7s end 1 ok"}, "open", true},
		"cut for its caller":   {7 * time.Second, reducer.Fail, true, []string{"0s admit 1", "5s end 1 cancel"}, "closed", true},
		"done in its function": {0, reducer.Fail, false, []string{"0s admit 1", "0s breaker open", "0s end 1 fail" + note}, "open", false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, steps)
				j := listen(p)
				var done func(reducer.Outcome)
				var own context.Context
				q := sluice.Request{Holdable: true, Stalled: func() bool { return c.stalled }}
				value, err := sluice.DoWith(t.Context(), p, q, func(ctx context.Context) (int, error) {
					own, done = ctx, sluice.Extend(ctx)
					if c.after == 0 {
						done(c.outcome)
					}
					return 7, nil
				})
				require.NoError(t, err)
				assert.Equal(t, 7, value)
				if c.after > 0 {
					assert.Equal(t, "held 1/1", state(t, p, "bulkhead").Text)
					require.NoError(t, own.Err())
				}
				time.Sleep(c.after)
				assert.Equal(t, c.cut, context.Cause(own) != nil && own.Err() == context.DeadlineExceeded)
				done(c.outcome)
				done(reducer.Fail)
				assert.Equal(t, c.log, j.all())
				assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
				assert.Equal(t, c.mode, state(t, p, "breaker").Mode)
				require.Error(t, own.Err())
			})
		})
	}
}

// TestExtendHasNoEffect on an attempt that fails, of a call that is hedged or not
// holdable, and on another context.
func TestExtendHasNoEffect(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sluice.Extend(t.Context())(reducer.Fail)
		p := guarded(t, []string{"retry: {attempts: 2, backoff: none}", "breaker: {window: {calls: 2}, open: 1h}", "bulkhead: 1"})
		runs := 0
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
			defer sluice.Extend(ctx)(reducer.OK)
			runs++
			return 0, errBoom
		})
		require.ErrorIs(t, err, errBoom)
		assert.Equal(t, 2, runs)
		assert.Equal(t, "open", state(t, p, "breaker").Mode)
		for _, holdable := range []bool{false, true} {
			p := guarded(t, []string{"breaker: {window: {calls: 1}, open: 1h}", "hedge: {after: 1m}", "bulkhead: 1"})
			q := sluice.Request{Holdable: holdable}
			if !holdable {
				q.NoHedge = "once"
			}
			_, err := sluice.DoWith(t.Context(), p, q, func(ctx context.Context) (int, error) {
				sluice.Extend(ctx)(reducer.Fail)
				return 1, nil
			})
			require.NoError(t, err)
			assert.Equal(t, "closed failed 0/1", state(t, p, "breaker").Text)
			assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		}
	})
}

// TestExtendIsOfTheLastAttempt of several, and done by several goroutines at once.
func TestExtendIsOfTheLastAttempt(t *testing.T) {
	p := guarded(t, []string{"retry: {attempts: 3, backoff: none}", "bulkhead: 4"})
	for range 200 {
		var dones []func(reducer.Outcome)
		ended := make(chan bool)
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
			dones = append(dones, sluice.Extend(ctx))
			if len(dones) < 3 {
				return 0, errBoom
			}
			for range 2 {
				go func() {
					dones[0](reducer.OK)
					dones[2](reducer.OK)
					ended <- true
				}()
			}
			return 1, nil
		})
		require.NoError(t, err)
		<-ended
		<-ended
		require.Equal(t, "held 0/4", state(t, p, "bulkhead").Text)
	}
}
