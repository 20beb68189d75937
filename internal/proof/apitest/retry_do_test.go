package apitest_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// TestRetriesStartWhereEvalSays compares the marks of attempts with those that
// eval gives for the same policy and seed, for every backoff and jitter.
func TestRetriesStartWhereEvalSays(t *testing.T) {
	backoffs := []string{
		"none", "{constant: 700ms}", "{linear: 300ms, max: 1s}", "{exponential: 500ms, factor: 2, max: 3s}",
		"{fibonacci: 200ms}", "{delays: [0s, 300ms]}", "{decorrelated: 100ms, max: 5s}",
	}
	for _, delay := range backoffs {
		for _, jitter := range []string{"none", "full", "equal", "20%"} {
			if jitter != "none" && (delay == "none" || strings.Contains(delay, "decorrelated")) {
				continue
			}
			steps := []string{fmt.Sprintf("retry: {attempts: 6, backoff: %s, jitter: %s}", delay, jitter)}
			if delay == "none" || strings.Contains(delay, "decorrelated") {
				steps = []string{fmt.Sprintf("retry: {attempts: 6, backoff: %s}", delay)}
			}
			t.Run(delay+" "+jitter, func(t *testing.T) {
				var got []string
				bubble(t, func(t *testing.T) {
					p := guarded(t, steps, sluice.WithSeed(42))
					j := listen(p)
					require.Error(t, do(p, fails))
					require.Error(t, do(p, fails))
					got = j.all()
				})
				assert.Equal(t, replayed(t, document(steps...), 2, 6), got)
			})
		}
	}
}

// replayed returns eval's decisions for calls one after another whose attempts
// all fail at once.
func replayed(t *testing.T, src []byte, calls, attempts int) (lines []string) {
	t.Helper()
	doc, err := policy.Parse("test.yaml", src)
	require.NoError(t, err)
	log, at := "", time.Duration(0)
	for id := range calls {
		log += fmt.Sprintf(`{"at":%d,"op":"call","id":%d}`+"\n", at, id)
		for range attempts {
			log += fmt.Sprintf(`{"at":%d,"op":"done","id":%d,"outcome":"fail"}`+"\n", at, id)
			var out bytes.Buffer
			require.NoError(t, eval.Run(doc.Policies[0].Policy, eval.Options{Seed: 42}, strings.NewReader(log), &out))
			lines = nil
			for text := range strings.Lines(out.String()) {
				d := parsed(t, text)
				lines = append(lines, d.String())
				if d.Decision == "retry" {
					at, err = time.ParseDuration(d.Until)
					require.NoError(t, err)
				}
			}
		}
	}
	return lines
}

func TestRetryEnds(t *testing.T) {
	const constant = "backoff: {constant: 1s}, jitter: none"
	cases := []struct {
		name   string
		steps  []string
		fn     func(context.Context) (int, error)
		reason reducer.Reason
		lines  []string
	}{{
		"a floor", []string{"retry: {attempts: 2, " + constant + "}"},
		func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, 5*time.Second) }, reducer.ReasonAttempts,
		[]string{"0s admit 1", "0s retry 1 throttle until 5s", "5s admit 2", "5s end 2 throttle attempts"},
	}, {
		"no floor", []string{"retry: {attempts: 2, " + constant + "}"},
		func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, 5) }, reducer.ReasonAttempts,
		[]string{"0s admit 1", "0s retry 1 throttle until 1s", "1s admit 2", "1s end 2 throttle attempts"},
	}, {
		"pushback", []string{"retry: {attempts: 2, " + constant + "}"},
		func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, -1) }, reducer.ReasonPushback,
		[]string{"0s admit 1", "0s end 1 throttle pushback"},
	}, {
		"deadline", []string{"timeout: 3s", "retry: {attempts: 2, " + constant + "}"},
		stubborn2(2 * time.Second), reducer.ReasonDeadline,
		[]string{"0s admit 1", "2s end 1 fail deadline"},
	}, {
		"elapsed", []string{"retry: {attempts: 5, " + constant + ", max_elapsed: 2s}"},
		fails, reducer.ReasonElapsed,
		[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s end 2 fail elapsed"},
	}, {
		"open", []string{"retry: {attempts: 5, " + constant + "}", "breaker: {window: {consecutive: 2}, open: 1m}"},
		fails, reducer.ReasonOpen,
		[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s breaker open", "1s end 2 fail open"},
	}, {
		"open no more", []string{"retry: {attempts: 3, " + constant + "}", "breaker: {window: {consecutive: 1}, open: 1s}"},
		fails, reducer.ReasonAttempts,
		[]string{"0s admit 1", "0s breaker open", "0s retry 1 fail until 1s", "1s breaker half-open", "1s admit 2",
			"1s breaker open", "1s retry 2 fail until 2s", "2s breaker half-open", "2s admit 3", "2s breaker open", "2s end 3 fail attempts"},
	}, {
		"budget", []string{"retry: {attempts: 5, " + constant + ", budget: {ratio: 0%, minimum: 1/10s, window: 10s}}"},
		fails, reducer.ReasonBudget,
		[]string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s end 2 fail budget"},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, c.steps)
				j := listen(p)
				err := do(p, c.fn)
				var gaveUp *sluice.RetryError
				require.ErrorAs(t, err, &gaveUp)
				require.ErrorIs(t, err, errBoom)
				assert.Equal(t, c.reason, gaveUp.Reason)
				assert.Equal(t, c.lines, j.all())
			})
		})
	}
}

// stubborn2 fails after d, whatever its context says.
func stubborn2(d time.Duration) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		time.Sleep(d)
		return 0, errBoom
	}
}

func TestNothingIsSpentByACheckThatEndsTheCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none, budget: {ratio: 0%, minimum: 1/10s, window: 10s}}"})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := sluice.Do(ctx, p, fails)
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, reducer.ReasonDeadline, gaveUp.Reason)
		require.ErrorAs(t, do(p, fails), &gaveUp)
		assert.Equal(t, reducer.ReasonAttempts, gaveUp.Reason, "the budget's one retry was left")
	})
}

// TestRefusalsAreWaitedFor: a call whose first attempt a step refuses makes it later,
// also where it may not be repeated, and in two phases. Where too little time is left the
// refusal is its end.
func TestRefusalsAreWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"timeout: 5s", "retry: {attempts: 2, backoff: {constant: 10ms}, jitter: none, refusals: wait}", "limit: {rate: 1/2s, burst: 1, name: rate}",
		})
		j := listen(p)
		for range 2 {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{NoRetry: "its body is gone"}, func(context.Context) (int, error) { return 1, nil })
			require.NoError(t, err)
		}
		c, err := p.Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		c.Done(reducer.OK)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var refused *sluice.RejectedError
		_, err = sluice.Do(ctx, p, fails)
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, reducer.ReasonRate, refused.Reason)
		assert.Equal(t, []string{
			"0s admit 1", "0s end 1 ok", "0s retry 1 rate until 2s", "2s admit 1", "2s end 1 ok",
			"2s retry 1 rate until 4s", "4s admit 1", "4s end 1 ok", "4s reject rate rate after 2s",
		}, j.all())
		gone, cancelled := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancelled)
		_, err = sluice.Do(gone, p, fails)
		require.ErrorIs(t, err, context.Canceled, "while it slept")
	})
	_, err := sluice.NewRetry(sluice.RetryConfig{Refusals: sluice.RefusalsWait})
	var wrong *reducer.ConfigError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, "refusals", wrong.Field)
}

// TestRetrierBoundsTheTime: a retrier alone starts no attempt after max_elapsed, and
// has its delays one by one.
func TestRetrierBoundsTheTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, err := sluice.NewRetry(sluice.RetryConfig{Attempts: 9, Backoff: sluice.BackoffDelays(0, 2*time.Second), MaxElapsed: 6 * time.Second})
		require.NoError(t, err)
		began := time.Now()
		var starts []time.Duration
		_, err = sluice.Retry(t.Context(), r, func(context.Context) (int, error) {
			starts = append(starts, time.Since(began))
			return 0, errBoom
		})
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, reducer.ReasonElapsed, gaveUp.Reason)
		assert.Equal(t, []time.Duration{0, 0, 2 * time.Second, 4 * time.Second}, starts)
	})
}

func TestNoRetry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, steps := range [][]string{{"retry: 3"}, {"retry: {attempts: 3, shadow: true}"}} {
			p := guarded(t, steps)
			j := listen(p)
			value, err := sluice.DoWith(t.Context(), p, sluice.Request{NoRetry: "the body is gone"}, func(context.Context) (int, error) {
				return 7, errBoom
			})
			require.ErrorIs(t, err, errBoom)
			assert.Equal(t, 7, value)
			var gaveUp *sluice.RetryError
			if strings.Contains(steps[0], "shadow") {
				require.NotErrorAs(t, err, &gaveUp)
				continue
			}
			require.ErrorAs(t, err, &gaveUp)
			assert.Equal(t, "the body is gone", gaveUp.Note)
			assert.Contains(t, err.Error(), "(the body is gone)")
			assert.Equal(t, []string{"0s admit 1", "0s end 1 fail the body is gone"}, j.all())
		}
	})
}

func TestAbandonComesBeforeTheBackoff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "bulkhead: 1"})
		began, abandoned := time.Now(), 0
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Abandon: func() {
			abandoned++
			assert.Zero(t, time.Since(began))
		}}, fails)
		require.Error(t, err)
		assert.Equal(t, 1, abandoned, "not for the last one")
		assert.Equal(t, time.Second, time.Since(began))
	})
}

func TestRetryAfterIsBoundedByDeadlinesAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		day := func(context.Context) (int, error) { return 0, sluice.Throttle(errBoom, 24*time.Hour) }
		began := time.Now()
		require.Error(t, do(guarded(t, []string{"timeout: 30d", "retry: {attempts: 2, backoff: none}"}), day))
		assert.Equal(t, 24*time.Hour, time.Since(began))
		began = time.Now()
		require.Error(t, do(guarded(t, []string{"timeout: 1d", "retry: {attempts: 2, backoff: none}"}), day))
		assert.Zero(t, time.Since(began))
	})
}
