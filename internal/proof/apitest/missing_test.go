package apitest_test

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// TestPipelinesWithoutAPolicy calls every method of pipelines that have none.
func TestPipelinesWithoutAPolicy(t *testing.T) {
	set, err := sluice.Parse("test.yaml", []byte("version: 1\npolicies: {vendor: {steps: [timeout: 1s]}}"))
	require.NoError(t, err)
	var none *sluice.Pipeline
	for want, p := range map[string]*sluice.Pipeline{
		"sluice: the pipeline is nil or zero: Load, Parse and New make one":  none,
		"sluice: the pipeline is nil or zero: Load, Parse and New make one ": new(sluice.Pipeline),
		`sluice: there is no policy "vendr"; did you mean "vendor"?`:         set.Pipeline("vendr"),
		`sluice: there is no policy "elsewhere"`:                             set.Pipeline("elsewhere"),
	} {
		if want[len(want)-1] == ' ' {
			want = want[:len(want)-1]
		}
		runs := func(context.Context) (int, error) { t.Error("fn runs"); return 1, nil }
		var unknown *sluice.UnknownPolicyError
		value, err := sluice.Do(t.Context(), p, runs)
		require.ErrorAs(t, err, &unknown)
		assert.Equal(t, want, err.Error())
		assert.Zero(t, value)
		_, err = sluice.DoWith(t.Context(), p, sluice.Request{Key: "a"}, runs)
		require.Equal(t, p.Err(), err)
		_, err = p.Begin(t.Context(), sluice.Request{})
		require.Equal(t, p.Err(), err)
		require.Equal(t, p.Err(), p.Configure(pipeline.Policy{}))
		require.Equal(t, p.Err(), p.Restore(nil))
		assert.Equal(t, unknown.Policy, p.Name())
		assert.Nil(t, p.Plan())
		assert.Nil(t, p.Document())
		assert.Nil(t, p.Fallback())
		assert.Nil(t, p.Snapshot())
		assert.Nil(t, p.State())
		assert.Nil(t, p.Limits(sluice.Request{}, nil))
		p.Listen(func(sluice.Event) { t.Error("an event") })()
		// Under another policy it is neither retried nor voted on.
		outer := guarded(t, outerSteps)
		j := listen(outer)
		_, err = sluice.Do(t.Context(), outer, inside(p, runs))
		require.ErrorAs(t, err, &unknown)
		assert.Contains(t, j.all()[1], "end 1 ignore")
	}
	p, err := set.Lookup("vendor")
	require.NoError(t, err)
	assert.Same(t, set.Pipeline("vendor"), p)
	require.NoError(t, p.Err())
	_, err = set.Lookup("Vendor")
	assert.Equal(t, &sluice.UnknownPolicyError{Policy: "Vendor", Nearest: "vendor"}, err)
}

// TestZeroValues uses mechanisms that no constructor made, twice: the second use
// would block if the first left a mutex locked.
func TestZeroValues(t *testing.T) {
	ctx := t.Context()
	for range 2 {
		var b sluice.Breaker
		require.EqualError(t, b.Do(ctx, good), "sluice: a zero Breaker; NewBreaker makes one")
		_, err := b.Acquire()
		require.Error(t, err)
		_, got := b.TryAcquire()
		assert.False(t, got)
		assert.Equal(t, breaker.Closed, b.Mode())
		b.Transition(breaker.Open)
		b.Reset()
		b.Listen(func(sluice.Event) {})()
		require.Error(t, b.Configure(breakerConfig()))

		var l sluice.Limiter
		assert.False(t, l.Allow())
		require.EqualError(t, l.Wait(ctx), "sluice: a zero Limiter; NewLimiter makes one")
		free, after := l.Peek(1)
		assert.Zero(t, free)
		assert.Negative(t, after)
		l.Drain()
		_, err = l.Reserve(1, 0)
		require.Error(t, err)
		require.Error(t, l.Configure(rate(1, time.Second)))

		var w sluice.Bulkhead
		require.EqualError(t, w.Do(ctx, good), "sluice: a zero Bulkhead; NewBulkhead makes one")
		_, got = w.TryAcquire()
		assert.False(t, got)
		require.Error(t, w.Configure(places(1, 0)))
		assert.False(t, sluice.Place{}.Release())
		assert.False(t, sluice.Place{}.Renew())

		var k sluice.KeyedLimiter
		assert.False(t, k.Allow("key"))
		free, after = k.Peek("key", 1)
		assert.Zero(t, free)
		assert.Negative(t, after)
		assert.Zero(t, k.Len())
		assert.Zero(t, k.Evictions())
		_, known := k.State("key")
		assert.False(t, known)
		var of sluice.KeyedLimiterOf[int]
		assert.False(t, of.Allow(1))
		_, after = of.Peek(1, 1)
		assert.Negative(t, after)
		assert.Zero(t, of.Len())
		assert.Zero(t, of.Evictions())

		var e sluice.Executor
		_, err = e.Go(ctx, sluice.Request{}, good)
		require.EqualError(t, err, "sluice: a zero Executor; NewExecutor makes one")
		assert.Zero(t, e.Drop())
		assert.Empty(t, e.Jobs())
		require.NoError(t, e.Shutdown(ctx))
		var q sluice.Queue[int]
		_, err = q.Put(ctx, 1)
		require.EqualError(t, err, "sluice: a zero Queue; NewQueue makes one")
		assert.Empty(t, q.Drop())
		require.NoError(t, q.Join(ctx))
		require.NoError(t, q.Stop(ctx))

		_, err = sluice.Retry(ctx, new(sluice.Retrier), ok)
		require.EqualError(t, err, "sluice: a zero Retrier; NewRetry makes one")
	}
}

// TestOptionsWithoutEffect gives each constructor every option.
func TestOptionsWithoutEffect(t *testing.T) {
	options := map[string]sluice.Option{
		"WithClock": sluice.WithClock(&clock.Virtual{}), "WithSeed": sluice.WithSeed(1), "WithLogger": sluice.WithLogger(slog.Default()),
		"WithClassify": sluice.WithClassify(func(error) reducer.Outcome { return reducer.Fail }),
		"WithMaxKeys":  sluice.WithMaxKeys(1), "WithRefuseLate": sluice.WithRefuseLate(),
		"WithRequestID":      sluice.WithRequestID(func(context.Context) string { return "" }),
		"WithClassifyResult": sluice.WithClassifyResult(func(string, any, error) reducer.Outcome { return 0 }), "WithAttemptInfo": sluice.WithAttemptInfo(),
		"WithShadow": sluice.WithShadow(),
	}
	for made, c := range map[string]struct {
		make func(sluice.Option) error
		want []string
	}{
		"Limiter":       {func(o sluice.Option) error { _, err := sluice.NewLimiter(rate(1, time.Second), o); return err }, []string{"WithClock", "WithLogger", "WithRequestID", "WithShadow"}},
		"KeyedLimiter":  {func(o sluice.Option) error { _, err := sluice.NewKeyedLimiter(rate(1, time.Second), o); return err }, []string{"WithClock", "WithLogger", "WithMaxKeys", "WithRequestID", "WithShadow"}},
		"KeyedBulkhead": {func(o sluice.Option) error { _, err := sluice.NewKeyedBulkhead(places(1, 0), o); return err }, []string{"WithClock", "WithLogger", "WithMaxKeys", "WithRequestID", "WithShadow"}},
		"KeyedBreaker":  {func(o sluice.Option) error { _, err := sluice.NewKeyedBreaker(breakerConfig(), o); return err }, []string{"WithClassify", "WithClassifyResult", "WithClock", "WithLogger", "WithMaxKeys", "WithRequestID", "WithShadow"}},
		"Bulkhead":      {func(o sluice.Option) error { _, err := sluice.NewBulkhead(places(1, 0), o); return err }, []string{"WithClock", "WithLogger", "WithRequestID", "WithShadow"}},
		"Breaker":       {func(o sluice.Option) error { _, err := sluice.NewBreaker(breakerConfig(), o); return err }, []string{"WithClassify", "WithClassifyResult", "WithClock", "WithLogger", "WithRequestID", "WithShadow"}},
		"Retrier": {func(o sluice.Option) error {
			_, err := sluice.NewRetry(retry.Config{Attempts: 1, Backoff: backoff.Config{Kind: backoff.None}}, o)
			return err
		}, []string{"WithAttemptInfo", "WithClassify", "WithClassifyResult", "WithClock", "WithLogger", "WithRequestID", "WithSeed", "WithShadow"}},
		"Set": {func(o sluice.Option) error { _, err := sluice.Parse("p", document("timeout: 1s"), o); return err },
			[]string{"WithAttemptInfo", "WithClassify", "WithClassifyResult", "WithClock", "WithLogger", "WithMaxKeys", "WithRefuseLate", "WithRequestID", "WithSeed"}},
	} {
		var took []string
		for name, o := range options {
			if err := c.make(o); err == nil {
				took = append(took, name)
			} else {
				assert.EqualError(t, err, "sluice: "+name+" has no effect on a "+made)
			}
		}
		assert.ElementsMatch(t, c.want, took, made)
	}
}

// A zero Set has no policies until Reload, and a zero Call holds nothing.
func TestZeroSetAndCall(t *testing.T) {
	var set sluice.Set
	assert.Nil(t, set.Document())
	assert.Empty(t, set.Names())
	require.EqualError(t, set.Pipeline("vendor").Err(), `sluice: there is no policy "vendor"`)
	events := 0
	defer set.Listen(func(sluice.Event) { events++ })()
	require.NoError(t, set.Reload("test.yaml", []byte("version: 1\npolicies: {vendor: {steps: [timeout: 1s]}}")))
	_, err := sluice.Do(t.Context(), set.Pipeline("vendor"), ok)
	require.NoError(t, err)
	assert.Equal(t, []string{"vendor"}, set.Names())
	assert.Equal(t, 3, events, "added, admit and end")

	var call sluice.Call
	assert.NoError(t, call.Context().Err())
	assert.Empty(t, call.Limits(nil))
	assert.False(t, call.Used(1))
	call.Done(reducer.OK)
	call.Release()
}

// TestNilMechanisms: what gets a mechanism that is nil refuses every call, as a nil pipeline
// does.
func TestNilMechanisms(t *testing.T) {
	good := func(context.Context) (int, error) { return 1, nil }
	for want, guard := range map[string]sluice.Guard{
		"sluice: the pipeline is nil or zero: Load, Parse and New make one": (*sluice.Pipeline)(nil),
		"sluice: a zero Limiter; NewLimiter makes one":                      (*sluice.Limiter)(nil),
		"sluice: a zero Breaker; NewBreaker makes one":                      (*sluice.Breaker)(nil),
		"sluice: a zero Bulkhead; NewBulkhead makes one":                    (*sluice.Bulkhead)(nil),
		"sluice: a zero Retrier; NewRetry makes one":                        (*sluice.Retrier)(nil),
	} {
		_, err := sluice.Wrap(guard, good)(t.Context())
		require.EqualError(t, err, want)
		require.EqualError(t, sluice.WrapRun(guard, func(context.Context) error { return nil })(t.Context()), want)
		if m, ok := guard.(sluice.Mechanism); ok {
			_, err = sluice.Execute(t.Context(), m, good)
			require.EqualError(t, err, want)
		}
	}
	_, err := sluice.Execute(t.Context(), nil, good)
	require.EqualError(t, err, "sluice: a nil Mechanism; NewLimiter, NewBreaker, NewBulkhead and NewRetry make one")
	_, err = sluice.Retry(t.Context(), nil, good)
	require.EqualError(t, err, "sluice: a zero Retrier; NewRetry makes one")
}

// TestNilOptions: an option that is nil, or has nil for its value, changes nothing.
func TestNilOptions(t *testing.T) {
	p, err := sluice.New(sluice.Policy{Pass: true}, nil, sluice.WithMechanisms(nil), sluice.WithClock(nil), sluice.WithClassify(nil),
		sluice.WithClassifyResult(nil), sluice.WithLogger(nil), sluice.WithRequestID(nil), sluice.WithDelay(nil))
	require.NoError(t, err)
	require.NoError(t, sluice.Run(t.Context(), p, func(context.Context) error { return nil }))
}

// TestSizesBeyondMemory: a number that no machine has room for is an error, or the greatest
// one.
func TestSizesBeyondMemory(t *testing.T) {
	p, err := sluice.New(sluice.Policy{Pass: true})
	require.NoError(t, err)
	for _, c := range []sluice.ExecutorConfig{{Concurrent: math.MaxInt}, {Queue: math.MaxInt}, {Concurrent: math.MaxInt, Queue: math.MaxInt}} {
		_, err = sluice.NewExecutor(p, c)
		require.ErrorContains(t, err, "is 9223372036854775807; allowed: at most 2147483647")
	}
	for field, c := range map[string]sluice.QueueConfig[int]{"Workers": {Workers: math.MaxInt}, "Size": {Size: math.MaxInt}} {
		_, err = sluice.NewQueue(p, c, func(context.Context, int) error { return nil })
		require.EqualError(t, err, "sluice: "+field+" is 9223372036854775807; allowed: at most 2147483647")
	}
	_, err = p.Trace(sluice.TraceOptions{Buffer: math.MaxInt})
	require.EqualError(t, err, "sluice: TraceOptions.Buffer is 9223372036854775807; allowed: at most 1073741824")
	sluice.NewStream(math.MaxInt).Stop()
	recent := sluice.NewRecent(math.MaxInt)
	recent.Observe(sluice.Event{})
	require.Len(t, recent.Events(), 1)
	recent.Follow(0, math.MaxInt).Stop()
}

// TestZeroReaders: a zero Recent keeps events, a zero Stream drops them.
func TestZeroReaders(t *testing.T) {
	var recent sluice.Recent
	for range sluice.DefaultRecent + 3 {
		recent.Observe(sluice.Event{})
	}
	events := recent.Events()
	require.Len(t, events, sluice.DefaultRecent)
	require.EqualValues(t, 4, events[0].Number)
	recent.Follow(0, 1).Stop()
	var stream sluice.Stream
	stream.Observe(sluice.Event{})
	require.EqualValues(t, 1, stream.Dropped())
	stream.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range stream.Events(ctx) {
		t.Error("an event")
	}
	var group sluice.ListenerGroup
	group.Add(nil)
	group.Stop()
	group.Add(nil)
	for _, err := range []error{&sluice.HandleError{}, &sluice.CancelError{}, &sluice.ItemError{}, &sluice.FallbackError{}} {
		require.NotEmpty(t, err.Error())
	}
}

// TestKeysWithoutAState: a step that keeps no state cannot have one for each key.
func TestKeysWithoutAState(t *testing.T) {
	per := []string{"key"}
	for want, step := range map[string]sluice.Step{
		`steps[0].timeout.per: found ["key"]; allowed on a step that keeps a state`: {Config: sluice.TimeoutConfig{After: time.Second}, Per: per},
		`steps[0].retry.per: found ["key"]; allowed on a step that keeps a state`:   {Config: sluice.RetryConfig{}, Per: per},
		`steps[0].hedge.per: found ["key"]; allowed on a step that keeps a state`:   {Config: sluice.HedgeConfig{After: time.Second}, Per: per},
	} {
		_, err := sluice.New(sluice.Policy{Steps: []sluice.Step{step}})
		require.EqualError(t, err, want)
		p, err := sluice.New(sluice.Policy{Pass: true})
		require.NoError(t, err)
		require.EqualError(t, p.Configure(sluice.Policy{Steps: []sluice.Step{step}}), want)
	}
	_, err := sluice.New(sluice.Policy{Steps: []sluice.Step{{Config: sluice.RetryConfig{Budgeted: true}, Per: per}, {Config: sluice.BreakerConfig{}, Per: per}}})
	require.NoError(t, err)
}

// endless is a clock that is at one of the ends of the line of marks.
type endless clock.Mark

func (e endless) Now() clock.Mark { return clock.Mark(e) }

// TestClockAtTheEnds: a clock at a mark that never comes does not keep a call in a loop.
func TestClockAtTheEnds(t *testing.T) {
	for _, at := range []clock.Mark{clock.Never, clock.Always} {
		for _, steps := range [][]string{
			{"bulkhead: {concurrent: 1, lease: 1ns}"}, {"bulkhead: {concurrent: 1, lease: 1h}", "timeout: 1h"}, {"timeout: 1ns"},
			{"limit: {rate: 1/1h, wait: 1h}"}, {"retry: {attempts: 2, backoff: none}", "breaker: {window: {consecutive: 1}, open: 1ns}"}, {"hedge: {after: 1h}"},
		} {
			bubble(t, func(t *testing.T) {
				p := guarded(t, steps, sluice.WithClock(endless(at)))
				for range 3 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					_ = sluice.Run(ctx, p, func(context.Context) error { return sluice.Throttle(context.Canceled, 1) })
					if call, err := p.Begin(ctx, sluice.Request{}); err == nil {
						call.Release()
					}
					cancel()
				}
			})
		}
	}
}
