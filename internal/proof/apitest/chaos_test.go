package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/reducer"
)

// TestInjectedFailure checks that the function does not run, that the failure is retried
// and votes, and that the error names what was injected.
func TestInjectedFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}",
			"breaker: {window: {consecutive: 2}, open: 1m}",
			"bulkhead: 1",
			"chaos: {fail: 100%, name: drill}",
		})
		j := listen(p)
		runs := 0
		value, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) {
			runs++
			return 7, nil
		})
		assert.Zero(t, runs)
		assert.Zero(t, value)
		require.ErrorIs(t, err, sluice.ErrInjected)
		var injected *sluice.InjectedError
		require.ErrorAs(t, err, &injected)
		assert.Equal(t, sluice.InjectedError{Policy: "p", Step: "drill", Result: reducer.Fail}, *injected)
		assert.EqualError(t, err, "sluice: p.retry: gave up after 2 attempts (attempts): sluice: p.drill: injected: fail")
		assert.Equal(t, []string{
			"0s admit 1", "0s inject 1 drill fail", "0s retry 1 fail until 1s",
			"1s admit 2", "1s inject 2 drill fail", "1s breaker open", "1s end 2 fail attempts",
		}, j.take())
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected, "the breaker is open")
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

// TestInjectedResults checks the outcome of each result for the caller, and for a policy
// around.
func TestInjectedResults(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, c := range []struct {
			step   string
			want   sluice.InjectedError
			text   string
			around []string // what a policy with two attempts around decides
		}{
			{
				"chaos: {fail: 100%}", sluice.InjectedError{Result: reducer.Fail},
				"fail", []string{"0s admit 1", "0s retry 1 fail until 0s", "0s admit 2", "0s end 2 fail attempts"},
			},
			{
				"chaos: {ignore: 100%}", sluice.InjectedError{Result: reducer.Ignore},
				"ignore", []string{"0s admit 1", "0s end 1 ignore"},
			},
			{
				"chaos: {throttle: {rate: 100%, retry_after: 1500ms}}", sluice.InjectedError{Result: reducer.Throttle, After: 1500 * time.Millisecond},
				"throttle, retry after 1.5s", []string{"0s admit 1", "0s retry 1 throttle until 1.5s", "1.5s admit 2", "1.5s end 2 throttle attempts"},
			},
		} {
			c.want.Policy, c.want.Step = "p", "chaos"
			p := guarded(t, []string{c.step})
			err := do(p, ok)
			assert.Equal(t, &c.want, err)
			assert.EqualError(t, err, "sluice: p.chaos: injected: "+c.text)

			outer := guarded(t, []string{"retry: {attempts: 2, backoff: none}"})
			j := listen(outer)
			_ = do(outer, func(ctx context.Context) (int, error) { return sluice.Do(ctx, p, ok) })
			assert.Equal(t, c.around, j.take())
		}
	})
}

// TestInjectedLatency checks that the function starts after the latency, in which the
// call holds its place and is under its timeouts.
func TestInjectedLatency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "timeout: 3s", "chaos: {slow: {rate: 100%, by: 2s}}"})
		j := listen(p)
		began := time.Now()
		go func() { _ = do(p, takes(500*time.Millisecond)) }()
		time.Sleep(time.Second)
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected, "the place is held")
		time.Sleep(2 * time.Second)
		assert.Equal(t, []string{"0s admit 1", "0s inject 1 chaos", "1s reject bulkhead full", "2s start 1 chaos", "2.5s end 1 ok"}, j.take())

		value, err := sluice.Do(t.Context(), p, func(ctx context.Context) (time.Duration, error) {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, time.Second, time.Until(deadline), "the timeout counts the latency")
			return time.Since(began), nil
		})
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second, value)
	})
}

// TestCutInLatency checks that a timeout cuts an attempt whose function has not started:
// it votes, is retried, and the function never runs.
func TestCutInLatency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"retry: {attempts: 2, backoff: none}", "breaker: {window: {consecutive: 2}, open: 1m}", "timeout: 1s",
			"chaos: {fail: 100%, slow: {rate: 100%, by: 2s}}",
		})
		j := listen(p)
		err := do(p, func(context.Context) (int, error) {
			t.Error("the function runs")
			return 0, nil
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, sluice.ErrInjected, "the injected result did not come")
		assert.Equal(t, []string{
			"0s admit 1", "0s inject 1 chaos", "1s timeout 1 timeout", "1s retry 1 timeout until 1s",
			"1s admit 2", "1s inject 2 chaos", "2s timeout 2 timeout", "2s breaker open", "2s end 2 timeout attempts",
		}, j.take())
	})
}

// TestInjectionsBeforeCuts checks that what is processed late is processed in the order of
// its marks: a listener takes longer than the latency and the timeout.
func TestInjectionsBeforeCuts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for latency, want := range map[string][]string{
			"1s": {"0s admit 1", "0s inject 1 chaos", "1s inject 1 chaos fail", "1s end 1 fail"},
			"2s": {"0s admit 1", "0s inject 1 chaos", "2s timeout 1 timeout", "2s end 1 timeout"},
			"3s": {"0s admit 1", "0s inject 1 chaos", "2s timeout 1 timeout", "2s end 1 timeout"},
		} {
			p := guarded(t, []string{"timeout: 2s", "chaos: {fail: 100%, slow: {rate: 100%, by: " + latency + "}}"})
			j := listen(p)
			p.Listen(func(e sluice.Event) {
				if e.Kind == sluice.EventInject && e.Wait > 0 {
					time.Sleep(5 * time.Second)
				}
			})
			require.Error(t, do(p, ok))
			assert.Equal(t, want, j.take(), latency)
		}
	})
}

// TestCancelledInLatency checks that a caller that gives up does not wait for the end of
// the latency.
func TestCancelledInLatency(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "chaos: {slow: {rate: 100%, by: 1h}}"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := sluice.Do(ctx, p, ok)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(began))
		canceled, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		_, err = sluice.Do(canceled, p, ok)
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

// TestInjectionsUnderAHedge checks that a hedge starts while the first attempt is held,
// and that an injected failure ends only its own attempt.
func TestInjectionsUnderAHedge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		counts := map[string]int{}
		for seed := range uint64(40) {
			p := guarded(t, []string{"hedge: {after: 1s}", "chaos: {fail: 40%, slow: {rate: 50%, by: 3s}}"}, sluice.WithSeed(seed))
			j := listen(p)
			value, err := sluice.Do(t.Context(), p, func(ctx context.Context) (uint32, error) {
				number, _, hedged := sluice.AttemptOf(ctx)
				assert.True(t, hedged)
				_, err := takes(2 * time.Second)(ctx)
				return number, err
			})
			lines := fmt.Sprint(j.take())
			switch {
			case err == nil:
				counts["won"]++
				assert.Contains(t, lines, fmt.Sprintf("ok won %d]", value))
			default:
				counts["failed"]++
				require.ErrorIs(t, err, sluice.ErrInjected)
				assert.Zero(t, value)
				assert.Contains(t, lines, "fail]")
			}
			for _, word := range []string{"failed 1 fail", "start 1 chaos", "start 2 chaos", "hedge 2 hedge"} {
				if strings.Contains(lines, word) {
					counts[word]++
				}
			}
			synctest.Wait()
		}
		for _, what := range []string{"won", "failed", "failed 1 fail", "start 1 chaos", "start 2 chaos", "hedge 2 hedge"} {
			assert.NotZero(t, counts[what], what)
		}
	})
}

// TestHedgedValueBeforeAnInjectedFailure checks that the value of an attempt that failed
// is discarded where the injected failure of another one ends the round.
func TestHedgedValueBeforeAnInjectedFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ended := false
		for seed := uint64(0); !ended && seed < 100; seed++ {
			p := guarded(t, []string{"hedge: {after: 1s}", "chaos: {fail: 40%, slow: {rate: 50%, by: 5s}}"}, sluice.WithSeed(seed))
			var runs, discarded atomic.Int32
			value, err := sluice.DoWith(t.Context(), p, sluice.Request{Discard: func(any) { discarded.Add(1) }}, func(context.Context) (int, error) {
				runs.Add(1)
				time.Sleep(2 * time.Second)
				return 7, errBoom
			})
			if ended = runs.Load() == 1 && errors.Is(err, sluice.ErrInjected); ended {
				assert.Zero(t, value)
				assert.Equal(t, int32(1), discarded.Load())
			}
		}
		assert.True(t, ended, "no seed has an attempt that fails before an injected failure")
	})
}

// TestPlaceOfAnInjectedRound checks that a round without a function releases its place at
// once, while the function of the round before still runs.
func TestPlaceOfAnInjectedRound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		seen := false
		for seed := uint64(0); !seen && seed < 100; seed++ {
			p := guarded(t, []string{"retry: {attempts: 2, backoff: none}", "hedge: {after: 10s}", "bulkhead: 2", "timeout: 1s", "chaos: {fail: 50%}"}, sluice.WithSeed(seed))
			err := do(p, stubborn(time.Minute))
			if seen = errors.Is(err, sluice.ErrInjected) && state(t, p, "bulkhead").Text != "held 0/2"; seen {
				assert.Equal(t, "held 1/2", state(t, p, "bulkhead").Text)
			}
			time.Sleep(time.Minute)
			assert.Equal(t, "held 0/2", state(t, p, "bulkhead").Text)
		}
		assert.True(t, seen, "no seed has a function and then an injected failure")
	})
}

// TestShadowInjectsNothing checks that the step reports what it would inject.
func TestShadowInjectsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"chaos: {throttle: {rate: 100%, retry_after: 5s}, slow: {rate: 100%, by: 2s}, shadow: true}"})
		var heard []sluice.Event
		p.Listen(func(e sluice.Event) { heard = append(heard, e) })
		require.NoError(t, do(p, ok))
		require.Len(t, heard, 4)
		assert.Equal(t, []decision.Kind{sluice.EventAdmit, sluice.EventInject, sluice.EventInject, sluice.EventEnd}, []decision.Kind{heard[0].Kind, heard[1].Kind, heard[2].Kind, heard[3].Kind})
		assert.Equal(t, 2*time.Second, heard[1].Wait)
		assert.Equal(t, time.Duration(-1), heard[1].RetryAfter)
		assert.True(t, heard[1].Shadow && heard[2].Shadow)
		assert.Equal(t, reducer.Throttle, heard[2].Outcome)
		assert.Equal(t, 5*time.Second, heard[2].RetryAfter)
		assert.Zero(t, heard[2].Wait)
	})
}

// TestBeginUnderChaos has calls of two phases, whose caller does the work.
func TestBeginUnderChaos(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "chaos: {slow: {rate: 100%, by: 2s}}"})
		began := time.Now()
		c, err := p.Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(began))
		c.Done(reducer.OK)
		c.Release()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		require.NoError(t, p.Configure(sluice.Policy{Name: "p", Steps: []sluice.Step{
			{Config: sluice.BulkheadConfig{Concurrent: 1}}, {Config: sluice.ChaosConfig{Fail: sluice.Percent(100)}},
		}}))
		_, err = p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrInjected)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		require.NoError(t, p.Configure(sluice.Policy{Name: "p", Steps: []sluice.Step{
			{Config: sluice.BulkheadConfig{Concurrent: 1}}, {Config: sluice.ChaosConfig{}},
		}}))
		require.NoError(t, do(p, ok), "a share of 0% switches the step off")
	})
}

// TestMetricsCountInjections checks that injections are counted apart from the ends of
// calls.
func TestMetricsCountInjections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"chaos: {fail: 100%, slow: {rate: 100%, by: 1s}}"})
		var m sluice.Metrics
		p.Listen(m.Observe)
		_ = do(p, ok)
		counts := m.Snapshot().Decisions
		key := sluice.MetricsKey{Policy: "p", Step: "chaos", Kind: sluice.EventInject}
		assert.Equal(t, uint64(1), counts[key], "latency")
		key.Outcome = reducer.Fail
		assert.Equal(t, uint64(1), counts[key], "a result")
		assert.Equal(t, uint64(1), m.Snapshot().Calls)
	})
}

// TestPanicUnderChaos checks that a listener that panics at an injection leaves nothing
// held.
func TestPanicUnderChaos(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "chaos: {fail: 100%, slow: {rate: 100%, by: 1s}}"}, quiet())
		left := 2
		p.Listen(func(e sluice.Event) {
			if e.Kind == sluice.EventInject {
				if left--; left == 0 {
					panic("listener")
				}
			}
		})
		require.ErrorIs(t, do(p, ok), sluice.ErrInjected)
		assert.Zero(t, left)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}
