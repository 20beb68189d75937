package apitest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/reducer"
)

// says is an error that carries an outcome, whatever it is.
type says reducer.Outcome

func (s says) Error() string            { return "says" }
func (s says) Outcome() reducer.Outcome { return reducer.Outcome(s) }

// TestMistakesOfClassifiers: a function of the user that panics, or returns no outcome, leaves
// the outcome that holds without it.
func TestMistakesOfClassifiers(t *testing.T) {
	crash := func() reducer.Outcome { panic("own") }
	mistakes := map[string]func() reducer.Outcome{
		"panics":  crash,
		"zero":    func() reducer.Outcome { return 0 },
		"unknown": func() reducer.Outcome { return 99 },
	}
	for name, f := range mistakes {
		for at, options := range map[string][]sluice.Option{
			"WithClassify":       {sluice.WithClassify(func(error) reducer.Outcome { return f() })},
			"WithClassifyResult": {sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return f() })},
			"of the step": {sluice.WithClassifyResult(func(step string, _ any, _ error) reducer.Outcome {
				if step == "" {
					return 0
				}
				return f()
			})},
		} {
			for _, fails := range []bool{false, true} {
				t.Run(name+" "+at, func(t *testing.T) {
					want, err := breaker.Closed, error(nil)
					if fails {
						want, err = breaker.Open, errBoom
					}
					calls := func(do func() error) {
						for range 3 {
							if name == "panics" && (fails || at != "WithClassify") {
								assert.PanicsWithValue(t, "own", func() { _ = do() })
								continue
							}
							assert.ErrorIs(t, do(), err)
						}
					}
					fn := func(context.Context) error { return err }
					for _, steps := range [][]string{
						{"breaker: {window: {consecutive: 3}, open: 1h}", "bulkhead: 1"},
						{"breaker: {window: {consecutive: 3}, open: 1h}", "hedge: {after: 1h}", "bulkhead: 1"},
					} {
						p := guarded(t, steps, options...)
						calls(func() error { return sluice.Run(t.Context(), p, fn) })
						assert.Equal(t, want.String(), state(t, p, "breaker").Mode, steps)
						assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
					}
					if at == "of the step" {
						return
					}
					alone, failed := sluice.NewBreaker(breaker.Config{Window: breaker.Consecutive, Count: 3}, options...)
					require.NoError(t, failed)
					calls(func() error { return alone.Do(t.Context(), fn) })
					assert.Equal(t, want, alone.Mode())
					generic, failed := sluice.NewBreaker(breaker.Config{Window: breaker.Consecutive, Count: 3}, options...)
					require.NoError(t, failed)
					calls(func() error {
						_, err := sluice.Execute(t.Context(), generic, func(context.Context) (int, error) { return 1, err })
						return err
					})
					assert.Equal(t, want, generic.Mode())
				})
			}
		}
	}
}

// TestErrorsWithoutAnOutcome, of inner policies too, mean what they mean without a classifier.
func TestErrorsWithoutAnOutcome(t *testing.T) {
	refused := &sluice.RejectedError{Step: "limit", Reason: reducer.ReasonRate, RetryAfter: time.Second}
	for name, c := range map[string]struct {
		err      error
		classify reducer.Outcome
		want     string
	}{
		"no opinion of an error":           {errBoom, 0, "fail"},
		"an unknown opinion":               {errBoom, 77, "fail"},
		"of an inner refusal":              {refused, 0, "throttle"},
		"an unknown one of a refusal":      {refused, 99, "throttle"},
		"an Outcomer without one":          {says(0), reducer.Ignore, "ignore"},
		"an Outcomer with an unknown one":  {says(42), reducer.Ignore, "ignore"},
		"neither":                          {says(42), 0, "fail"},
		"a timeout of the function's own":  {says(reducer.Timeout), reducer.Ignore, "fail"},
		"an opinion about an inner cut":    {&sluice.TimeoutError{Step: "timeout"}, reducer.Ignore, "ignore"},
		"no opinion about an inner cut":    {&sluice.TimeoutError{Step: "timeout"}, 0, "fail"},
		"an Outcomer is asked before that": {says(reducer.Throttle), reducer.Ignore, "throttle"},
	} {
		t.Run(name, func(t *testing.T) {
			p := guarded(t, []string{"breaker: {}"}, sluice.WithClassify(func(error) reducer.Outcome { return c.classify }))
			var ends []string
			p.Listen(func(e sluice.Event) { ends = append(ends, e.Outcome.String()) }, sluice.EventEnd)
			require.Error(t, sluice.Run(t.Context(), p, func(context.Context) error { return c.err }))
			assert.Equal(t, []string{c.want}, ends)
		})
	}
}

// TestDelayThatPanics leaves the outcome of the attempt, a success with a failing value too.
func TestDelayThatPanics(t *testing.T) {
	p := guarded(t, []string{"retry: 2", "breaker: {window: {consecutive: 1}, open: 1h}", "bulkhead: 1"},
		sluice.WithDelay(func(sluice.AttemptInfo) time.Duration { panic("own") }),
		sluice.WithClassify(func(error) reducer.Outcome { return reducer.Throttle }))
	assert.PanicsWithValue(t, "own", func() {
		_ = sluice.Run(t.Context(), p, func(context.Context) error { return errBoom })
	})
	assert.Equal(t, "closed", state(t, p, "breaker").Mode)
	assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
}
