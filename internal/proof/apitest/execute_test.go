package apitest_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

func TestExecute(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx := t.Context()
		patient := rate(1, time.Second)
		patient.Wait, patient.Queue = time.Minute, 1
		l, b, w := limited(t, patient), broken(t, breakerConfig()), walled(t, places(1, 0))
		for _, m := range []sluice.Mechanism{l, b, w} {
			value, err := sluice.Execute(ctx, m, func(context.Context) (string, error) { return "value", nil })
			require.NoError(t, err)
			assert.Equal(t, "value", value)
			value, err = sluice.Execute(ctx, m, func(context.Context) (string, error) { return "why", errBoom })
			require.Equal(t, errBoom, err)
			assert.Equal(t, "why", value, "the value comes with the function's own error")
		}
		began := time.Now()
		require.NoError(t, l.Do(ctx, good))
		assert.Equal(t, time.Second, time.Since(began), "a limiter waits")

		b.Transition(breaker.Open)
		_, err := sluice.Execute(ctx, b, ok)
		require.ErrorIs(t, err, sluice.ErrRejected)
		_, err = sluice.Execute(ctx, w, func(ctx context.Context) (int, error) { return sluice.Execute(ctx, w, ok) })
		require.ErrorIs(t, err, sluice.ErrRejected, "the only place is taken")

		over, cancel := context.WithCancel(ctx)
		cancel()
		for _, m := range []sluice.Mechanism{l, b, w} {
			_, err := sluice.Execute(over, m, func(context.Context) (int, error) { t.Error("fn runs"); return 0, nil })
			require.ErrorIs(t, err, context.Canceled)
		}
		for _, m := range []sluice.Mechanism{new(sluice.Limiter), new(sluice.Breaker), new(sluice.Bulkhead)} {
			_, err := sluice.Execute(ctx, m, ok)
			require.ErrorContains(t, err, "a zero ")
		}
	})
}

// TestDoRefusesAtOnce has functions under a limiter alone refused as under a step of a policy
// where its wait is 0. Wait, which is called to wait, waits all the same.
func TestDoRefusesAtOnce(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow} {
		bubble(t, func(t *testing.T) {
			ctx := t.Context()
			c := limiter.Config{Algorithm: algorithm, Count: 1, Period: time.Second}
			l := limited(t, c)
			var kinds []string
			l.Listen(func(e sluice.Event) { kinds = append(kinds, e.Kind.String()) })
			require.NoError(t, l.Do(ctx, good))
			began := time.Now()
			_, err := sluice.Execute(ctx, l, ok)
			for _, err := range []error{l.Do(ctx, good), err} {
				var refused *sluice.RejectedError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, time.Second, refused.RetryAfter)
			}
			assert.Zero(t, time.Since(began))
			assert.Equal(t, []string{"admit", "reject", "reject"}, kinds)
			require.NoError(t, l.Wait(ctx))
			assert.Equal(t, time.Second, time.Since(began))

			require.ErrorIs(t, l.Do(ctx, good), sluice.ErrRejected)
			c.Wait, c.Queue = time.Minute, 1
			require.NoError(t, l.Configure(c))
			require.NoError(t, l.Do(ctx, good))
			assert.Equal(t, 2*time.Second, time.Since(began), "another configuration waits")
		})
	}
}

// TestExecuteCountsOnce ends a function in each way under a breaker that opens at the
// second failure in a row.
func TestExecuteCountsOnce(t *testing.T) {
	ends := map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit}
	for name, end := range ends {
		b := broken(t, breaker.Config{Window: breaker.Consecutive, Count: 2, Probes: 1, Open: constant(time.Minute)})
		w := walled(t, places(1, 0))
		for i, want := range []breaker.Mode{breaker.Closed, breaker.Open} {
			over := make(chan any)
			go func() {
				defer func() { over <- recover() }()
				_, _ = sluice.Execute(t.Context(), w, func(ctx context.Context) (int, error) {
					return sluice.Execute(ctx, b, func(context.Context) (int, error) { end(); return 0, nil })
				})
			}()
			if value := <-over; name == "panic" {
				assert.Equal(t, "boom", value)
			}
			assert.Equal(t, want, b.Mode(), "%s %d", name, i)
		}
		_, free := w.TryAcquire()
		assert.True(t, free, name)
	}
}

// TestExecuteEmits compares the events of Execute with the events of Do.
func TestExecuteEmits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var heard [2][]string
		for i := range heard {
			l, b, w := limited(t, rate(1, time.Second)), broken(t, breakerConfig()), walled(t, places(1, 0))
			note := func(e sluice.Event) {
				line := e.Step + " " + e.Kind.String() + " " + e.Outcome.String()
				if e.Err != nil {
					line += " " + e.Err.Error()
				}
				heard[i] = append(heard[i], line)
			}
			l.Listen(note)
			b.Listen(note)
			w.Listen(note)
			if i == 0 {
				for _, do := range []func(context.Context, func(context.Context) error) error{l.Do, b.Do, w.Do} {
					_ = do(t.Context(), bad)
				}
				continue
			}
			for _, m := range []sluice.Mechanism{l, b, w} {
				_, _ = sluice.Execute(t.Context(), m, fails)
			}
		}
		assert.Equal(t, heard[0], heard[1])
		assert.Contains(t, heard[1], "breaker end fail boom")
	})
}

// TestRetrierEmits has a Retrier with a classifier retry a value.
func TestRetrierEmits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, err := sluice.NewRetry(retry.Config{Attempts: 2, Backoff: constant(time.Second)}, sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return reducer.Fail }))
		require.NoError(t, err)
		var heard []string
		r.Listen(func(e sluice.Event) {
			heard = append(heard, fmt.Sprint(e.Kind, " ", e.Attempt, " ", e.Outcome, " ", e.Reason, " ", e.Err, " ", e.Elapsed))
		})
		_, err = sluice.Retry(t.Context(), r, ok)
		require.Error(t, err)
		const bad = "sluice: the value was classified as fail"
		assert.Equal(t, []string{"admit 1   <nil> 0s", "retry 1 fail fail " + bad + " 0s", "admit 2   <nil> 1s", "end 2 fail attempts " + bad + " 1s"}, heard)
	})
}

func TestRetrierDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := retrier(t, retry.Config{Attempts: 3, Backoff: constant(time.Second)})
		runs := 0
		err := r.Do(t.Context(), func(context.Context) error { runs++; return errBoom })
		var gaveUp *sluice.RetryError
		require.ErrorAs(t, err, &gaveUp)
		assert.Equal(t, 3, runs)
		require.ErrorContains(t, new(sluice.Retrier).Do(t.Context(), good), "a zero Retrier")
	})
}

func TestExecuteAllocatesNothing(t *testing.T) {
	ctx := context.Background()
	r := retrier(t, retry.Config{Attempts: 3, Backoff: constant(time.Second)})
	allocates(t, 0, "Retry", func() { _, _ = sluice.Retry(ctx, r, ok) })
	for _, m := range []sluice.Mechanism{
		limited(t, limiter.Config{Count: 1_000_000_000, Period: time.Second}), broken(t, breakerConfig()), walled(t, places(1, 0)),
	} {
		calls := 0
		allocates(t, 0, "Execute", func() {
			_, _ = sluice.Execute(ctx, m, func(context.Context) (int, error) { calls++; return calls, nil })
		})
	}
}

// TestClassifyResultAlone counts and retries values of mechanisms alone.
func TestClassifyResultAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var steps []string
		bad := sluice.WithClassifyResult(sluice.ClassifyAs(func(step string, value int, err error) reducer.Outcome {
			steps = append(steps, step)
			if err == nil && value >= 500 {
				return reducer.Fail
			}
			return 0
		}))
		answers := func(value int) func(context.Context) (int, error) {
			return func(context.Context) (int, error) { return value, nil }
		}
		c := breakerConfig()
		b, err := sluice.NewBreaker(c, bad)
		require.NoError(t, err)
		value, err := sluice.Execute(t.Context(), b, answers(503))
		assert.Equal(t, &sluice.ResultError{Result: reducer.Fail}, err)
		assert.Equal(t, 503, value)
		_, err = sluice.Execute(t.Context(), b, answers(200))
		require.NoError(t, err)
		require.NoError(t, b.Do(t.Context(), good), "a function without a value")
		for b.Mode() == breaker.Closed {
			_, err = sluice.Execute(t.Context(), b, answers(503))
			require.Error(t, err)
		}

		r, err := sluice.NewRetry(retry.Config{Attempts: 3, Backoff: constant(time.Second)}, bad)
		require.NoError(t, err)
		codes := []int{503, 500, 200}
		value, err = sluice.Retry(t.Context(), r, func(context.Context) (int, error) {
			code := codes[0]
			codes = codes[1:]
			return code, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 200, value)
		value, err = sluice.Retry(t.Context(), r, answers(503))
		assert.Equal(t, 503, value)
		assert.EqualError(t, err, "sluice: retry: gave up after 3 attempts (attempts): sluice: the value was classified as fail")
		assert.Equal(t, []string{"", "breaker", "", "breaker"}, steps[:4])
		assert.Equal(t, []string{"", "", ""}, steps[len(steps)-3:])
	})
}

// TestClassifyByStepAlone gives a mechanism alone and a pipeline of that one step the same
// results and the same classifier, which tells attempts from steps: both are asked the same,
// and count the same.
func TestClassifyByStepAlone(t *testing.T) {
	for name, verdicts := range map[string]map[string]reducer.Outcome{
		"the attempt fails":            {"": reducer.Fail},
		"the step alone counts it":     {"breaker": reducer.Fail},
		"the step does not count it":   {"": reducer.Fail, "breaker": reducer.Ignore},
		"the step counts a success":    {"": reducer.Fail, "breaker": reducer.OK},
		"a name that no step has":      {"retry": reducer.Fail},
		"neither the attempt nor step": {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var asked []string
				classify := sluice.WithClassifyResult(func(step string, _ any, _ error) reducer.Outcome {
					asked = append(asked, step)
					return verdicts[step]
				})
				take := func() (steps []string) {
					steps, asked = asked, nil
					return steps
				}
				c := breaker.Config{Window: breaker.Consecutive, Count: 1, Probes: 1, Open: constant(time.Minute)}
				alone, err := sluice.NewBreaker(c, classify)
				require.NoError(t, err)
				p, err := sluice.New(pipeline.Policy{Name: "p", Steps: []pipeline.Step{{Config: c}}}, classify)
				require.NoError(t, err)
				_, one := sluice.Execute(t.Context(), alone, ok)
				steps := take()
				_, other := sluice.Do(t.Context(), p, ok)
				assert.Equal(t, take(), steps)
				assert.Equal(t, other, one)
				mode, err := p.Step("breaker").State()
				require.NoError(t, err)
				assert.Equal(t, mode.Mode, alone.Mode())

				tries := retry.Config{Attempts: 2, Backoff: constant(time.Second)}
				r, err := sluice.NewRetry(tries, classify)
				require.NoError(t, err)
				p, err = sluice.New(pipeline.Policy{Name: "p", Steps: []pipeline.Step{{Config: tries}}}, classify)
				require.NoError(t, err)
				_, err = sluice.Retry(t.Context(), r, ok)
				steps = take()
				_, other = sluice.Do(t.Context(), p, ok)
				assert.Equal(t, take(), steps)
				assert.Equal(t, other == nil, err == nil)
			})
		})
	}
}
