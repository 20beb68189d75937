package apitest_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

var phased = []string{"timeout: 1m", "retry: 3", "breaker: {window: {consecutive: 2}, open: 1m}", "limit: 10/1h", "bulkhead: 1", "timeout: 10s"}

func begin(t *testing.T, p *sluice.Pipeline) *sluice.Call {
	t.Helper()
	c, err := p.Begin(t.Context(), sluice.Request{})
	require.NoError(t, err)
	return c
}

// TestTwoPhasesRetryAfter: the answer of a call opens the breakers that obey it, and only
// those.
func TestTwoPhasesRetryAfter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const obeys = "breaker: {window: {calls: 10}, obey_retry_after: 1m}"
		for _, c := range []struct {
			steps   []string
			outcome reducer.Outcome
			after   time.Duration
			open    time.Duration // 0 for not
		}{
			{[]string{obeys}, reducer.Throttle, 20 * time.Second, 20 * time.Second},
			{[]string{obeys, "timeout: 5s"}, reducer.Fail, 20 * time.Second, 20 * time.Second},
			{[]string{obeys}, reducer.Fail, time.Hour, time.Minute},
			{[]string{"bulkhead: 5", obeys}, reducer.Fail, 0, 0},
			{[]string{obeys}, reducer.Fail, -time.Second, 0},
			{[]string{obeys}, reducer.OK, 20 * time.Second, 0},
			{[]string{obeys}, reducer.Ignore, 20 * time.Second, 0},
			{[]string{obeys, "retry: 3"}, reducer.Throttle, 20 * time.Second, 20 * time.Second},
			{[]string{"retry: 3", obeys}, reducer.Throttle, 20 * time.Second, 20 * time.Second},
			{[]string{"breaker: {window: {calls: 10}}"}, reducer.Throttle, 20 * time.Second, 0},
			{[]string{"breaker: {window: {calls: 10}, obey_retry_after: 1m, per: key}"}, reducer.Throttle, 20 * time.Second, 20 * time.Second},
		} {
			p := guarded(t, c.steps)
			j := listen(p)
			first, began := begin(t, p), time.Now()
			first.DoneRetryAfter(c.outcome, c.after)
			first.DoneRetryAfter(reducer.Fail, 40*time.Second)
			first.Release()
			assert.NotContains(t, strings.Join(j.take(), " "), "retry", "one attempt")
			_, err := p.Begin(t.Context(), sluice.Request{})
			var refused *sluice.RejectedError
			if c.open == 0 {
				assert.NoError(t, err, "%v", c)
				continue
			}
			require.ErrorAs(t, err, &refused, "%v", c)
			assert.Equal(t, c.open, refused.RetryAfter, "%v", c)
			time.Sleep(c.open - time.Since(began))
			begin(t, p).Done(reducer.OK)
		}
		var none sluice.Call
		none.DoneRetryAfter(reducer.Fail, time.Second)
	})
}

func TestTwoPhases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, phased)
		j := listen(p)
		c := begin(t, p)
		at, limited := c.Context().Deadline()
		assert.True(t, limited)
		assert.Equal(t, 10*time.Second, time.Until(at))
		c.Done(reducer.Fail)
		c.Done(reducer.OK)
		assert.Equal(t, []string{"0s admit 1", "0s end 1 fail"}, j.take(), "not retried, once")
		assert.Equal(t, "held 1/1", state(t, p, "bulkhead").Text, "until Release")
		require.NoError(t, c.Context().Err())
		_, err := p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrRejected)
		time.Sleep(time.Hour)
		require.NoError(t, c.Context().Err(), "the deadlines are over")
		c.Release()
		c.Release()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		assert.Equal(t, context.Canceled, c.Context().Err())
		assert.Equal(t, "closed failed 1 in a row", state(t, p, "breaker").Text)
		j.take()

		c = begin(t, p)
		c.Release()
		assert.Equal(t, []string{"1h0m0s admit 1", "1h0m0s end 1 cancel"}, j.take())
		assert.Equal(t, "closed failed 1 in a row", state(t, p, "breaker").Text, "no vote")

		c = begin(t, p)
		<-c.Context().Done()
		var cut *sluice.TimeoutError
		require.ErrorAs(t, context.Cause(c.Context()), &cut)
		assert.Equal(t, "timeout-2", cut.Step)
		require.ErrorIs(t, c.Context().Err(), context.DeadlineExceeded)
		time.Sleep(time.Second)
		c.Done(reducer.Fail)
		c.Release()
		assert.Equal(t, []string{"1h0m0s admit 1", "1h0m10s timeout 1 timeout-2", "1h0m10s breaker open", "1h0m10s end 1 timeout"}, j.take())
		_, err = p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

func TestBeginWaitsAndGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 1m}"})
		first := begin(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := p.Begin(ctx, sluice.Request{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.AfterFunc(time.Second, first.Release)
		second := begin(t, p)
		second.Release()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)

		assert.Equal(t, "lookup", recovered(func() {
			q := guarded(t, []string{"bulkhead: {concurrent: 1, name: first}", "bulkhead: {concurrent: 1, per: ip}"})
			defer func() { assert.Equal(t, "held 0/1", state(t, q, "first").Text) }()
			_, _ = q.Begin(t.Context(), sluice.Request{Lookup: func(string) string { panic("lookup") }})
		}))
	})
}

func TestHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 1}", "timeout: 10s", "bulkhead: {name: inner, concurrent: 1}"})
		var release func()
		var held context.Context
		hold := func(ctx context.Context) (int, error) {
			release, held = sluice.Hold(ctx), ctx
			return 1, nil
		}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, hold)
		require.NoError(t, err)
		for _, step := range []string{"outer", "inner"} {
			assert.Equal(t, "held 1/1", state(t, p, step).Text)
		}
		time.Sleep(time.Minute)
		require.NoError(t, held.Err(), "the deadline no longer cuts")
		release()
		release()
		require.ErrorIs(t, held.Err(), context.Canceled)
		for _, step := range []string{"outer", "inner"} {
			assert.Equal(t, "held 0/1", state(t, p, step).Text)
		}

		_, err = sluice.Do(t.Context(), p, hold)
		require.NoError(t, err)
		assert.Equal(t, "held 0/1", state(t, p, "inner").Text, "not holdable")
		release()
		sluice.Hold(t.Context())()
	})
}

// TestHoldWhileABreakerCloses has a call that holds its places close a breaker between
// them, which takes it off the fast path after it has left one of the steps.
func TestHoldWhileABreakerCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"bulkhead: {name: outer, concurrent: 1}",
			"breaker: {window: {calls: 1}, failure_rate: 50%, minimum: 1, open: 10s, probes: 1}",
			"bulkhead: {name: inner, concurrent: 1, per: key}",
		})
		require.Error(t, do(p, fails))
		time.Sleep(10 * time.Second)
		var release func()
		q := sluice.Request{Holdable: true, Key: "a"}
		_, err := sluice.DoWith(t.Context(), p, q, func(ctx context.Context) (int, error) {
			assert.Equal(t, "half-open", state(t, p, "breaker").Mode)
			release = sluice.Hold(ctx)
			return 1, nil
		})
		require.NoError(t, err)
		assert.Equal(t, "closed", state(t, p, "breaker").Mode)
		refused := func() string {
			var rejected *sluice.RejectedError
			_, err := sluice.DoWith(t.Context(), p, q, ok)
			require.ErrorAs(t, err, &rejected)
			return rejected.Step
		}
		assert.Equal(t, "outer", refused())
		release()
		assert.Equal(t, "held 0/1", state(t, p, "outer").Text)
		_, err = sluice.DoWith(t.Context(), p, q, ok)
		require.NoError(t, err, "the inner place is free")
	})
}

func TestHoldEndsWithAnotherAttempt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 1}", "retry: {attempts: 3, backoff: {constant: 1s}, jitter: none}", "bulkhead: {name: inner, concurrent: 1}"})
		runs, releases := 0, []func(){}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
			assert.Equal(t, "held 1/1", state(t, p, "inner").Text)
			releases = append(releases, sluice.Hold(ctx))
			if runs++; runs < 3 {
				return 0, errBoom
			}
			return 1, nil
		})
		require.NoError(t, err)
		releases[0]()
		releases[1]()
		assert.Equal(t, "held 1/1", state(t, p, "inner").Text)
		assert.Equal(t, "held 1/1", state(t, p, "outer").Text)
		releases[2]()
		assert.Equal(t, "held 0/1", state(t, p, "inner").Text)
		assert.Equal(t, "held 0/1", state(t, p, "outer").Text)
	})
}

func TestHoldReleasedBeforeTheEnd(t *testing.T) {
	p := guarded(t, []string{"bulkhead: 1"})
	_, err := sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
		sluice.Hold(ctx)()
		return 1, nil
	})
	require.NoError(t, err)
	assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
}

func TestHoldEndsWithACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: 1", "timeout: 1m"})
		var held context.Context
		crash := func(how func()) {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Holdable: true}, func(ctx context.Context) (int, error) {
				sluice.Hold(ctx)
				held = ctx
				how()
				return 1, nil
			})
		}
		assert.Equal(t, "boom", recovered(func() { crash(func() { panic("boom") }) }))
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
		require.ErrorIs(t, held.Err(), context.Canceled)
		go crash(runtime.Goexit)
		synctest.Wait()
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)
	})
}

// timed has no step whose place is held for longer than the attempt, so that its calls
// take the fast path.
var timed = []string{"timeout: 1m", "breaker: {window: {consecutive: 2}, open: 1m}", "limit: 10/1h", "timeout: 10s"}

type carried struct{}

func TestContextOfTwoPhases(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, timed)
		j := listen(p)
		parent := context.WithValue(t.Context(), carried{}, 1)
		start := func() (*sluice.Call, context.Context) {
			c, err := p.Begin(parent, sluice.Request{})
			require.NoError(t, err)
			return c, c.Context()
		}
		c, ctx := start()
		at, limited := ctx.Deadline()
		assert.True(t, limited)
		assert.Equal(t, 10*time.Second, time.Until(at))
		assert.Equal(t, 1, ctx.Value(carried{}))
		c.Done(reducer.OK)
		time.Sleep(time.Minute)
		require.NoError(t, ctx.Err(), "the deadlines are over")
		child, cancel := context.WithCancel(ctx)
		defer cancel()
		require.NoError(t, child.Err())
		c.Release()
		assert.Equal(t, context.Canceled, ctx.Err())
		<-child.Done()
		assert.Equal(t, []string{"0s admit 1", "0s end 1 ok"}, j.take())

		for _, asks := range []bool{false, true} { // for Done before the cut
			c, ctx = start()
			child = ctx
			if asks {
				child, cancel = context.WithCancel(ctx)
				defer cancel()
			}
			time.Sleep(10 * time.Second)
			if asks {
				<-child.Done()
			}
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			var cut *sluice.TimeoutError
			require.ErrorAs(t, context.Cause(child), &cut)
			assert.Equal(t, "timeout-2", cut.Step)
			c.Done(reducer.OK)
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			c.Release()
			require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		}
		assert.Equal(t, []string{
			"1m0s admit 1", "1m10s timeout 1 timeout-2", "1m10s end 1 ok",
			"1m10s admit 1", "1m20s timeout 1 timeout-2", "1m20s breaker open", "1m20s end 1 ok",
		}, j.take())
	})
}

func TestContextOfTwoPhasesFollowsItsParent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, timed)
		for _, asks := range []bool{false, true} {
			parent, cancel := context.WithCancelCause(t.Context())
			c, err := p.Begin(parent, sluice.Request{})
			require.NoError(t, err)
			ctx := c.Context()
			if asks {
				require.NotNil(t, ctx.Done())
			}
			cancel(errBoom)
			assert.Equal(t, context.Canceled, ctx.Err())
			c.Release()
			<-ctx.Done()
			assert.Equal(t, context.Canceled, ctx.Err())
			assert.Equal(t, errBoom, context.Cause(ctx))
		}
	})
}

// TestDoneOfTwoPhasesVotes has the outcomes that end a call of the fast path, and those
// for which a run takes it over.
func TestDoneOfTwoPhasesVotes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, timed)
		j := listen(p)
		for _, o := range []reducer.Outcome{reducer.OK, reducer.Fail, reducer.Ignore, reducer.Fail} {
			c := begin(t, p)
			c.Done(o)
			c.Done(reducer.OK)
			c.Release()
		}
		assert.Equal(t, []string{
			"0s admit 1", "0s end 1 ok", "0s admit 1", "0s end 1 fail", "0s admit 1", "0s end 1 ignore", "0s admit 1", "0s breaker open", "0s end 1 fail",
		}, j.take())
		_, err := p.Begin(t.Context(), sluice.Request{})
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, "lookup", recovered(func() {
			q := guarded(t, []string{"limit: 10/1h", "limit: {rate: 10/1h, per: ip, name: keyed}"})
			_, _ = q.Begin(t.Context(), sluice.Request{Lookup: func(string) string { panic("lookup") }})
		}))
	})
}

func TestLimitsOfTwoPhases(t *testing.T) {
	for _, more := range []string{"timeout: 1m", "bulkhead: 1"} { // with the latter, calls do not take the fast path
		bubble(t, func(t *testing.T) {
			p := guarded(t, []string{more, "limit: {rate: 2/1m, per: key}"})
			call, err := p.Begin(t.Context(), sluice.Request{Key: "a"})
			require.NoError(t, err)
			want := []sluice.LimitState{{Step: 1, Free: 1, Full: 30 * time.Second}}
			time.Sleep(10 * time.Second)
			assert.Equal(t, want, call.Limits(nil), "as it was admitted")
			assert.Equal(t, []sluice.LimitState{{}, {Step: 1, Free: 1, Full: 20 * time.Second}}, p.Limits(sluice.Request{Key: "a"}, make([]sluice.LimitState, 1)))
			call.Release()
			assert.Empty(t, call.Limits(nil))
		})
	}
}

// TestLimitsBesideDone reads the limits of a call while another goroutine ends it and begins
// calls of another key: they are the limits of its own key, or none.
func TestLimitsBesideDone(t *testing.T) {
	for _, steps := range [][]string{{"limit: {rate: 10/1h, per: key}"}, {"hedge: {after: 1h}", "limit: {rate: 10/1h, per: [key, ip]}"}} {
		p := guarded(t, steps)
		begin := func(key string, cost uint32) *sluice.Call {
			call, err := p.Begin(t.Context(), sluice.Request{Key: key, Cost: cost, Lookup: func(string) string { return "x" }})
			require.NoError(t, err)
			return call
		}
		end := func(call *sluice.Call) {
			call.Done(sluice.OutcomeOK)
			call.Release()
		}
		end(begin("own", 5))
		var readers sync.WaitGroup
		for range 300 {
			call := begin("own", sluice.NoCost)
			started := make(chan struct{})
			readers.Go(func() {
				close(started)
				for range 20 {
					for _, limit := range call.Limits(nil) {
						assert.EqualValues(t, 5, limit.Free)
					}
				}
			})
			<-started
			end(call)
			for range 10 {
				end(begin("other", sluice.NoCost))
			}
		}
		readers.Wait()
	}
}

// TestListenNil adds no listener, wherever one can be added: one that is called would panic,
// and be logged at level error.
func TestListenNil(t *testing.T) {
	var logged strings.Builder
	option := sluice.WithLogger(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelError})))
	src := []byte("version: 1\npolicies: {p: {steps: [{limit: 1/1h}]}}\n")
	p := must(sluice.New(sluice.PolicyOf("p", rate(1, time.Hour)), option))
	set := must(sluice.Parse("p.yaml", src, option))
	l, b := must(sluice.NewLimiter(rate(1, time.Hour), option)), must(sluice.NewBreaker(breakerConfig(), option))
	w, keyed := must(sluice.NewBulkhead(places(1, 0), option)), must(sluice.NewKeyedLimiter(rate(1, time.Hour), option))
	r, h := must(sluice.NewRetry(sluice.RetryConfig{}, option)), must(sluice.NewHedge(sluice.HedgeConfig{After: time.Hour}, option))
	for _, stop := range []func(){
		p.Listen(nil), p.Observe(nil), set.Listen(nil), set.Observe(nil), l.Listen(nil), keyed.Listen(nil), b.Listen(nil), w.Listen(nil),
		r.Listen(nil), h.Listen(nil), (*sluice.Pipeline)(nil).Listen(nil), new(sluice.Hedger).Listen(nil),
	} {
		defer stop()
	}
	for range 2 { // the second one is refused
		for _, g := range []sluice.Guard{p, set.Pipeline("p"), b, w, r, h} {
			_ = sluice.WrapRun(g, good)(t.Context())
		}
		l.Allow()
		keyed.Allow("a")
	}
	require.NoError(t, set.Reload("p.yaml", []byte("version: 1\npolicies: {p: {steps: [{limit: 2/1h}]}}\n")))
	assert.Empty(t, logged.String())
}
