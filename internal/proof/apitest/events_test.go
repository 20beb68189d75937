package apitest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// source is anything with events.
type source interface {
	Listen(f func(sluice.Event), kinds ...sluice.EventKind) (stop func())
}

var _ = []source{
	(*sluice.Pipeline)(nil), (*sluice.Set)(nil), (*sluice.Limiter)(nil), (*sluice.KeyedLimiter)(nil),
	(*sluice.Bulkhead)(nil), (*sluice.Breaker)(nil), (*sluice.Retrier)(nil),
	(*sluice.KeyedBreaker)(nil), (*sluice.KeyedBulkhead)(nil), (*sluice.KeyedRetrier)(nil),
}

// sentences collects the text of each event.
type sentences struct {
	mu    sync.Mutex
	lines []string
}

func sentencesOf(s source, kinds ...sluice.EventKind) *sentences {
	c := &sentences{}
	s.Listen(func(e sluice.Event) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, e.String())
	}, kinds...)
	return c
}

func (c *sentences) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := c.lines
	c.lines = nil
	return lines
}

func TestEventsOfALimiter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, limiter.Config{Count: 1, Period: time.Second, Wait: 1500 * time.Millisecond, Queue: 1})
		events := sentencesOf(l)
		l.Allow()
		l.Allow()
		l.AllowN(2)
		assert.Equal(t, []string{"limit: admitted", "limit: rejected: rate, retry after 1s", "limit: rejected: capacity"}, events.take())

		go func() { _ = l.Wait(t.Context()) }()
		synctest.Wait()
		require.ErrorIs(t, l.Wait(t.Context()), sluice.ErrRejected)
		l.Allow()
		assert.Equal(t, []string{"limit: queued for at most 1.5s", "limit: rejected: full, retry after 1s", "limit: rejected: rate, retry after 2s"}, events.take())
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, []string{"limit: granted after waiting 1s", "limit: admitted"}, events.take())

		l.Drain()
		_, err := l.Reserve(1, time.Minute)
		require.NoError(t, err)
		require.NoError(t, l.Configure(limiter.Config{Count: 2, Period: time.Second}))
		assert.Equal(t, []string{"limit: the free permits were discarded", "limit: admitted", "limit: configured"}, events.take())
	})
}

// TestWaitWithoutBound: a wait that lasts as long as its caller does has no length in texts, logs
// and JSON, of a mechanism alone and of a step.
func TestWaitWithoutBound(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l, k := limited(t, rate(1, time.Second)), perKey(t, rate(1, time.Second))
		b, err := sluice.NewBulkhead(places(1, 5))
		require.NoError(t, err)
		p := guarded(t, []string{"bulkhead: {concurrent: 1, queue: 5}"})
		hold := func(context.Context) error { time.Sleep(time.Second); return nil }
		for _, x := range []struct {
			source
			call func()
		}{
			{l, func() { _ = l.Wait(t.Context()) }}, {k, func() { _ = k.Wait(t.Context(), "a") }},
			{b, func() { _ = b.Do(t.Context(), hold) }}, {p, func() { _ = sluice.Run(t.Context(), p, hold) }},
		} {
			events := make(chan sluice.Event, 1)
			x.Listen(func(e sluice.Event) { events <- e }, sluice.EventWait)
			var all sync.WaitGroup
			for range 2 {
				all.Go(x.call)
			}
			all.Wait()
			e := <-events
			assert.Contains(t, e.String(), "queued without bound")
			text, err := json.Marshal(e)
			require.NoError(t, err)
			assert.NotContains(t, string(text), `"wait":`)
			assert.NotContains(t, e.LogValue().String(), "wait=2")
		}
	})
}

// TestWrongUsage: a number that is wrong by millions keeps others out for as long as two
// capacities take to refill at most, whatever the algorithm, and is told.
func TestWrongUsage(t *testing.T) {
	for _, c := range []struct {
		settings string
		dropped  uint64
		back     time.Duration // until another call passes
	}{
		{"rate: 100/1m, charge: settle", 1<<32 - 1 - 101, 1200 * time.Millisecond},
		{"rate: 100/1m, charge: settle, per: key", 1<<32 - 1 - 101, 1200 * time.Millisecond},
		{"rate: 100/1m, charge: end, cost: 50", 1<<32 - 1 - 150, 60 * time.Second},
		{"rate: 100/1m, burst: 20, charge: settle, settle_max: 5", 1<<32 - 1 - 6, 0},
		{"rate: 100/1m, charge: settle, wait: 1s", 1<<32 - 1 - 101, 200 * time.Millisecond}, // and 1 s in the queue
		{"rate: 100/1m, charge: settle, settle_max: 1000000000, algorithm: fixed-window", 1<<32 - 1 - 200, time.Minute},
		{"rate: 100/1m, charge: settle, algorithm: sliding-log", 1<<32 - 1 - 101, time.Minute},
		{"rate: 100/1m, charge: settle, algorithm: sliding-counter", 1<<32 - 1 - 101, 61188118812 * time.Nanosecond},
		{"rate: 100/1m, charge: settle, algorithm: leaky-bucket", 1<<32 - 1 - 101, 60600 * time.Millisecond},
	} {
		t.Run(c.settings, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, []string{"limit: {" + c.settings + "}"})
				var told []sluice.Event
				p.Listen(func(e sluice.Event) { told = append(told, e) }, sluice.EventClamped)
				require.NoError(t, do(p, func(ctx context.Context) (int, error) {
					sluice.Used(ctx, 1<<32-1)
					return 0, nil
				}))
				require.Len(t, told, 1)
				assert.Equal(t, c.dropped, told[0].Dropped)
				assert.Equal(t, fmt.Sprintf("p.limit: %d permits were used and not taken", c.dropped), told[0].String())
				text, err := json.Marshal(told[0])
				require.NoError(t, err)
				assert.Contains(t, string(text), `"decision":"clamped","step":"limit",`)
				assert.Contains(t, string(text), fmt.Sprintf(`"dropped":%d`, c.dropped))
				err = do(p, ok)
				if c.back == 0 {
					require.NoError(t, err)
					return
				}
				var refused *sluice.RejectedError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, c.back, refused.RetryAfter)
			})
		})
	}
}

func TestEventsOfAWaitThatIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := limited(t, limiter.Config{Count: 1, Period: time.Minute})
		b := walled(t, places(1, 1))
		require.True(t, l.Allow())
		_, held := b.TryAcquire()
		require.True(t, held)
		for name, wait := range map[string]struct {
			source
			wait func(context.Context) error
		}{
			"limit":    {l, l.Wait},
			"bulkhead": {b, func(ctx context.Context) error { _, err := b.Acquire(ctx); return err }},
		} {
			var last sluice.Event
			wait.Listen(func(e sluice.Event) { last = e })
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errBoom) })
			require.ErrorIs(t, wait.wait(ctx), context.Canceled)
			assert.Equal(t, name+": ended cancel after 1s: boom", last.String())
			assert.Equal(t, time.Second, last.Wait)
			assert.Equal(t, ctx, last.Context)
		}
	})
}

func TestEventsOfAKeyedLimiter(t *testing.T) {
	for _, algorithm := range []limiter.Algorithm{limiter.TokenBucket, limiter.FixedWindow} {
		l, err := sluice.NewKeyedLimiter(limiter.Config{Algorithm: algorithm, Count: 1, Period: time.Hour}, sluice.WithMaxKeys(1))
		require.NoError(t, err)
		var kinds []string
		stop := l.Listen(func(e sluice.Event) { kinds = append(kinds, e.Kind.String()+" "+e.Key) })
		assert.True(t, l.Allow("a"))
		assert.False(t, l.Allow("a"))
		assert.True(t, l.Allow("b"))
		assert.Equal(t, []string{"admit a", "reject a", "evicted ", "admit b"}, kinds)
		stop()
		l.Allow("c")
		l.Listen(func(e sluice.Event) { kinds = append(kinds, e.Kind.String()+" "+e.Key) })
		l.Allow("c")
		assert.Equal(t, "reject c", kinds[4], "evictions without a listener are no events later")
		assert.EqualValues(t, 2, l.Evictions())
	}
}

func TestEventsOfABulkhead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := places(1, 1)
		c.Wait, c.Lease = 3*time.Second, 2*time.Second
		b := walled(t, c)
		events := sentencesOf(b)
		place, ok := b.TryAcquire()
		require.True(t, ok)
		b.TryAcquire()
		time.Sleep(time.Second)
		place.Release()
		place.Release()
		assert.Equal(t, []string{"bulkhead: admitted", "bulkhead: rejected: full", "bulkhead: ended after 1s"}, events.take())

		_, err := b.Acquire(t.Context())
		require.NoError(t, err)
		_, err = b.Acquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{
			"bulkhead: admitted", "bulkhead: queued for at most 3s", "bulkhead: the lease of a place ran out",
			"bulkhead: granted after waiting 2s", "bulkhead: admitted",
		}, events.take())
		require.NoError(t, b.Configure(places(1, 0)))
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Contains(t, events.take(), "bulkhead: configured")
	})
}

func TestAWaitAtABulkheadExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := places(1, 1)
		c.Wait = 3 * time.Second
		b := walled(t, c)
		_, ok := b.TryAcquire()
		require.True(t, ok)
		events := sentencesOf(b, sluice.EventExpire)
		_, err := b.Acquire(t.Context())
		require.ErrorIs(t, err, sluice.ErrRejected)
		assert.Equal(t, []string{"bulkhead: rejected after waiting 3s: wait"}, events.take())
	})
}

func TestEventsOfABreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := breaker.Config{Window: breaker.Calls, Count: 4, Minimum: 3, FailureRate: reducer.Percent(60), Probes: 1,
			SlowOver: time.Second, SlowRate: reducer.Percent(50), Open: backoff.Config{Kind: backoff.Constant, Base: time.Minute}}
		b := broken(t, c)
		events := sentencesOf(b)
		require.NoError(t, b.Do(t.Context(), good))
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		require.ErrorIs(t, b.Do(t.Context(), bad), errBoom)
		require.ErrorIs(t, b.Do(t.Context(), bad), sluice.ErrRejected)
		assert.Equal(t, []string{
			"breaker: admitted", "breaker: ended ok after 0s", "breaker: admitted", "breaker: ended fail after 0s: boom", "breaker: admitted",
			"breaker: open: 66.6666% of 3 calls failed", "breaker: ended fail after 0s: boom", "breaker: rejected: open, retry after 1m0s",
		}, events.take())

		b.Reset()
		b.Transition(breaker.HalfOpen)
		assert.Equal(t, []string{"breaker: closed by an operator", "breaker: half-open by an operator"}, events.take())
		pass, ok := b.TryAcquire()
		require.True(t, ok)
		time.Sleep(1500 * time.Millisecond)
		pass.Done(reducer.OK)
		pass.Done(reducer.OK)
		assert.Equal(t, []string{
			"breaker: admitted", "breaker: open: 100% of 1 calls were slow", "breaker: slow: it took 1.5s", "breaker: ended ok after 1.5s",
		}, events.take())
		require.NoError(t, b.Configure(c))
		b.Reset()
		require.ErrorIs(t, b.Do(t.Context(), func(context.Context) error { return sluice.Ignore(errBoom) }), errBoom)
		assert.Equal(t, []string{"breaker: configured", "breaker: closed by an operator", "breaker: admitted", "breaker: ended ignore after 0s: boom"}, events.take())
	})
}

// TestARejectListenerCostsNoClock has a listener of refusals: it gets the refusals of every
// state, and calls that the breaker admits do not read the clock for it.
func TestARejectListenerCostsNoClock(t *testing.T) {
	c := breakerConfig()
	c.Window, c.Count, c.Minimum = breaker.Calls, 4, 4
	var clock ticking
	b, err := sluice.NewBreaker(c, sluice.WithClock(&clock))
	require.NoError(t, err)
	var refusals []string
	b.Listen(func(e sluice.Event) {
		assert.EqualValues(t, clock.at.Load(), e.At, "the mark of the refusal")
		refusals = append(refusals, e.Reason.String())
	}, sluice.EventReject)
	require.NoError(t, b.Do(t.Context(), good), "the first call needs the time")
	before := clock.at.Load()
	require.NoError(t, b.Do(t.Context(), good))
	pass, ok := b.TryAcquire()
	require.True(t, ok)
	pass.Done(reducer.OK)
	assert.Equal(t, before, clock.at.Load())
	for _, mode := range []breaker.Mode{breaker.Open, breaker.ForcedOpen, breaker.HalfOpen} {
		b.Transition(mode)
		if mode == breaker.HalfOpen {
			_, ok = b.TryAcquire()
			require.True(t, ok, "the only probe")
		}
		require.ErrorIs(t, b.Do(t.Context(), good), sluice.ErrRejected)
		_, ok = b.TryAcquire()
		require.False(t, ok)
		_, err = b.Acquire()
		require.ErrorIs(t, err, sluice.ErrRejected)
	}
	assert.Equal(t, []string{"open", "open", "open", "open", "open", "open", "probes", "probes", "probes"}, refusals)
}

// TestChangesByOneAction has one Transition after the open time is over: time brings the
// first change, the operator the second one.
func TestChangesByOneAction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := broken(t, breakerConfig())
		events := sentencesOf(b, sluice.EventChange)
		b.Transition(breaker.Open)
		time.Sleep(2 * time.Minute)
		b.Transition(breaker.ForcedClosed)
		assert.Equal(t, []string{"breaker: open by an operator", "breaker: half-open", "breaker: forced-closed by an operator"}, events.take())
	})
}

func TestEventsOfARetrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r, err := sluice.NewRetry(retry.Config{Attempts: 2, Backoff: backoff.Config{Kind: backoff.Constant, Base: time.Second}})
		require.NoError(t, err)
		events := sentencesOf(r)
		_, err = sluice.Retry(t.Context(), r, fails)
		require.Error(t, err)
		assert.Equal(t, []string{
			"retry: attempt 1 starts", "retry: attempt 1 failed (fail), the next one starts in 1s: boom",
			"retry: attempt 2 starts", "retry: ended fail after 1s and 2 attempts (attempts): boom",
		}, events.take())
		_, err = sluice.Retry(t.Context(), r, ok)
		require.NoError(t, err)
		_, err = sluice.Retry(t.Context(), r, func(context.Context) (int, error) { return 0, sluice.Ignore(errBoom) })
		require.Error(t, err)
		assert.Equal(t, []string{"retry: attempt 1 starts", "retry: ended ok after 0s", "retry: attempt 1 starts", "retry: ended ignore after 0s: boom"}, events.take())
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(errBoom) })
		_, err = sluice.Retry(ctx, r, fails)
		require.ErrorIs(t, err, context.Canceled)
		assert.Contains(t, events.take()[2], "retry: ended cancel after 500ms: ")
	})
}

func TestEventsOfAPolicy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, err := sluice.Parse("test.yaml", document(
			"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}",
			"breaker: {window: {calls: 4}, minimum: 2, failure_rate: 100%, slow: {over: 1s, rate: 60%}, open: 1m}",
			"bulkhead: {concurrent: 1, wait: 10s}",
		))
		require.NoError(t, err)
		p := set.Pipeline("p")
		events := sentencesOf(p)
		go func() { _ = do(p, takes(2*time.Second)) }()
		synctest.Wait()
		require.NoError(t, do(p, ok))
		synctest.Wait()
		assert.ElementsMatch(t, []string{
			"p: attempt 1 starts", "p.bulkhead: attempt 1 is queued for at most 10s",
			"p.breaker: attempt 1 was slow: it took 2s", "p: ended ok after 2s",
			"p.bulkhead: attempt 1 is granted after waiting 2s", "p: attempt 1 starts", "p: ended ok after 2s",
		}, events.take(), "a breaker measures attempts without their waits")

		require.Error(t, do(p, fails))
		assert.Equal(t, []string{
			"p: attempt 1 starts", "p: attempt 1 failed (fail), the next one starts in 1s: boom", "p: attempt 2 starts",
			"p: ended fail after 1s and 2 attempts (attempts): boom",
		}, events.take())
		require.NoError(t, set.Reload("test.yaml", document("breaker: {window: {calls: 2}, minimum: 2, failure_rate: 50%}")))
		_, _ = do(p, fails), do(p, fails)
		lines := events.take()
		assert.Equal(t, []string{"p: the policy was replaced", "p: configured"}, lines[:2])
		assert.Contains(t, lines, "p.breaker: open: 100% of 2 calls failed")
	})
}

func TestEvictionsOfAStep(t *testing.T) {
	p := guarded(t, []string{"bulkhead: {concurrent: 1, per: key, keys: 2}"})
	events := sentencesOf(p, sluice.EventEvicted, sluice.EventFull)
	for i := range 4 {
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: fmt.Sprint("key", i)}, ok)
		require.NoError(t, err)
	}
	assert.Equal(t, []string{
		"p.bulkhead[key0]: the key lost its state to another key", "p.bulkhead[key2]: the step has its maximum of keys",
		"p.bulkhead[key1]: the key lost its state to another key",
	}, events.take())
	assert.EqualValues(t, 2, state(t, p, "bulkhead").Evictions)
}

// TestEventsByKind has a listener of one kind beside one of all kinds.
func TestEventsByKind(t *testing.T) {
	p := guarded(t, []string{"limit: 1/1h"})
	ends, all := sentencesOf(p, sluice.EventEnd), sentencesOf(p)
	unknown := sentencesOf(p, sluice.EventKind(200))
	require.NoError(t, do(p, ok))
	require.Error(t, do(p, ok))
	assert.Len(t, ends.take(), 1)
	assert.Len(t, all.take(), 3)
	assert.Empty(t, unknown.take())
}

func TestListenerGroup(t *testing.T) {
	p, l := guarded(t, []string{"limit: 100/1s"}), limited(t, rate(10, time.Second))
	own, group := 0, 0
	var g sluice.ListenerGroup
	p.Listen(func(sluice.Event) { own++ })
	g.Add(p.Listen(func(sluice.Event) { group++ }))
	g.Add(l.Listen(func(sluice.Event) { group++ }))
	require.NoError(t, do(p, ok))
	l.Allow()
	assert.Equal(t, []int{2, 3}, []int{own, group})
	g.Stop()
	g.Stop()
	g.Add(p.Listen(func(sluice.Event) { group++ }))
	require.NoError(t, do(p, ok))
	l.Allow()
	assert.Equal(t, []int{4, 3}, []int{own, group})
}

// TestSetListensToLaterPolicies also by kind.
func TestSetListensToLaterPolicies(t *testing.T) {
	two := []byte("version: 1\npolicies:\n  p:\n    steps:\n      - limit: 9/1s\n  q:\n    steps:\n      - limit: 9/1s\n")
	set, err := sluice.Parse("test.yaml", document("limit: 9/1s"))
	require.NoError(t, err)
	ends := sentencesOf(set, sluice.EventEnd)
	require.NoError(t, set.Reload("test.yaml", two))
	require.NoError(t, do(set.Pipeline("q"), ok))
	require.NoError(t, set.Reload("test.yaml", document("limit: 9/1s")))
	require.NoError(t, set.Reload("test.yaml", two))
	require.NoError(t, do(set.Pipeline("q"), ok))
	assert.Len(t, ends.take(), 2)
}

type requestKey struct{}

func TestEventsHaveTheRequest(t *testing.T) {
	byContext := sluice.WithRequestID(func(ctx context.Context) string { id, _ := ctx.Value(requestKey{}).(string); return id })
	p := guarded(t, []string{"limit: 2/1h"}, byContext)
	ctx := context.WithValue(t.Context(), requestKey{}, "r-1")
	var got []string
	p.Listen(func(e sluice.Event) {
		assert.Equal(t, ctx, e.Context)
		assert.EqualValues(t, 1, e.Cost)
		got = append(got, e.Kind.String()+" "+e.Request)
	})
	_, _ = sluice.Do(ctx, p, ok)
	_, _ = sluice.DoWith(ctx, p, sluice.Request{ID: "own"}, fails)
	_, _ = sluice.DoWith(ctx, p, sluice.Request{}, fails)
	assert.Equal(t, []string{"admit r-1", "end r-1", "admit own", "end own", "reject r-1"}, got)

	b, err := sluice.NewBreaker(breakerConfig(), byContext)
	require.NoError(t, err)
	var last sluice.Event
	b.Listen(func(e sluice.Event) { last = e })
	require.NoError(t, b.Do(ctx, good))
	assert.Equal(t, "breaker: ended ok after "+last.Elapsed.String()+" (request r-1)", last.String())
}

// TestEventsComeOnce has calls on many goroutines while listeners come and go: one that
// stays gets each event once, and no other one gets an event twice.
func TestEventsComeOnce(t *testing.T) {
	const workers, calls = 4, 200
	p, b := guarded(t, []string{"breaker: {window: {calls: 100}}", "bulkhead: {concurrent: 2, wait: 1h}"}), broken(t, breakerConfig())
	var kinds [2][32]atomic.Int64
	p.Listen(func(e sluice.Event) { kinds[0][e.Kind].Add(1) })
	var stays sluice.Metrics
	p.Observe(&stays)
	b.Listen(func(e sluice.Event) { kinds[1][e.Kind].Add(1) })
	var work, visits sync.WaitGroup
	var over atomic.Bool
	visits.Go(func() {
		for !over.Load() {
			var g sluice.ListenerGroup
			var seen sync.Map
			once := func(e sluice.Event) {
				if _, twice := seen.LoadOrStore(e.Request+e.Kind.String(), true); twice {
					t.Errorf("%s came twice", e)
				}
			}
			g.Add(p.Listen(once, sluice.EventAdmit, sluice.EventEnd))
			g.Add(p.Observe(new(sluice.Metrics)))
			runtime.Gosched()
			g.Stop()
		}
	})
	for w := range workers {
		work.Go(func() {
			for i := range calls {
				_, err := sluice.DoWith(t.Context(), p, sluice.Request{ID: fmt.Sprint(w, "/", i, "/")}, ok)
				assert.NoError(t, err)
				assert.NoError(t, b.Do(t.Context(), good))
			}
		})
	}
	work.Wait()
	over.Store(true)
	visits.Wait()
	for i := range kinds {
		assert.EqualValues(t, workers*calls, kinds[i][sluice.EventAdmit].Load())
		assert.EqualValues(t, workers*calls, kinds[i][sluice.EventEnd].Load())
	}
	assert.Equal(t, kinds[0][sluice.EventWait].Load(), kinds[0][sluice.EventGranted].Load())
	counts := stays.Snapshot().Decisions
	assert.EqualValues(t, workers*calls, counts[sluice.MetricsKey{Policy: "p", Kind: sluice.EventAdmit}])
	assert.EqualValues(t, workers*calls, counts[sluice.MetricsKey{Policy: "p", Kind: sluice.EventEnd, Outcome: reducer.OK}])
	assert.EqualValues(t, kinds[0][sluice.EventWait].Load(), counts[sluice.MetricsKey{Policy: "p", Kind: sluice.EventWait, Step: "bulkhead"}])
}

// TestListenerPanics has a listener panic on the goroutine of a call and on the goroutine of a
// timer: the call goes on, others are called, and it is called no more.
func TestListenerPanics(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, lease: 1s}"}, quiet())
		var before, after, panicked int
		p.Listen(func(sluice.Event) { before++ })
		p.Listen(func(e sluice.Event) {
			if e.Kind == sluice.EventLapse {
				panicked++
				panic("listener")
			}
		})
		p.Listen(func(sluice.Event) { after++ })
		for range 2 {
			require.NoError(t, do(p, stubborn(2*time.Second)))
		}
		assert.Equal(t, []int{6, 1, 6}, []int{before, panicked, after})
		before, after, panicked = 0, 0, 0
		l := limited(t, rate(2, time.Second), quiet())
		l.Listen(func(sluice.Event) { before++ })
		l.Listen(func(sluice.Event) { panicked++; panic("listener") }, sluice.EventAdmit)
		l.Listen(func(sluice.Event) { panicked++; panic("listener") }, sluice.EventReject)
		l.Listen(func(sluice.Event) { after++ })
		for i := range 4 {
			assert.Equal(t, i < 2, l.Allow())
		}
		assert.Equal(t, []int{4, 2, 4}, []int{before, panicked, after})
		for _, x := range []*panicking{{at: sluice.EventAdmit}, {at: sluice.EventEnd}, {at: sluice.EventLapse}} {
			p.Observe(x)
			heard := sentencesOf(p)
			for range 2 {
				require.NoError(t, do(p, ok))
				require.NoError(t, do(p, stubborn(2*time.Second)))
			}
			assert.Len(t, heard.take(), 10)
			assert.Equal(t, 1, x.panics, x.at)
		}
	})
}

// panicking is an observer that panics at each event of a kind.
type panicking struct {
	at     sluice.EventKind
	panics int
}

func (x *panicking) Observe(e sluice.Event) { x.got(e.Kind) }

func (x *panicking) Admitted(string) { x.got(sluice.EventAdmit) }

func (x *panicking) Succeeded(string, context.Context, time.Duration) { x.got(sluice.EventEnd) }

func (x *panicking) got(kind sluice.EventKind) {
	if kind == x.at {
		x.panics++
		panic("observer")
	}
}

// TestListenerBlocks has a listener block one call: it holds up this call alone.
func TestListenerBlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {consecutive: 1}}", "limit: {rate: 9/1s, per: key}", "bulkhead: {concurrent: 5, wait: 1s}"})
		release, blocked := make(chan struct{}), false
		p.Listen(func(e sluice.Event) {
			if e.Key == "blocked" && e.Kind == sluice.EventAdmit {
				blocked = true
				<-release
			}
		})
		over := false
		go func() {
			_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: "blocked"}, ok)
			over = true
		}()
		synctest.Wait()
		require.True(t, blocked)
		for range 5 {
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "other"}, ok)
			require.NoError(t, err)
			p.State()
			require.NoError(t, p.Restore(p.Snapshot()))
		}
		assert.False(t, over)
		close(release)
		synctest.Wait()
		assert.True(t, over)
	})
}

// TestEventText has an event of every kind say something of its own.
func TestEventText(t *testing.T) {
	seen := map[string]sluice.EventKind{}
	for kind := sluice.EventAdmit; kind.String() != "unknown"; kind++ {
		e := sluice.Event{Policy: "p", Step: "step", Key: "key", Kind: kind, Attempt: 2, Reason: sluice.ReasonOpen, RetryAfter: -1, Mode: breaker.Open}
		text := e.String()
		assert.True(t, strings.HasPrefix(text, "p.step[key]: "), text)
		assert.Zero(t, seen[text], text)
		seen[text] = kind
		src, err := json.Marshal(e)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(src, &fields))
		assert.Equal(t, kind.String(), fields["decision"])
	}
	for text, e := range map[string]sluice.Event{
		"p: attempt 2 starts (shadow) (request r)":                  {Policy: "p", Kind: sluice.EventAdmit, Attempt: 2, Shadow: true, Request: "r"},
		"p.timeout: attempt 1 is over the soft limit":               {Policy: "p", Step: "timeout", Kind: sluice.EventTimeout, Soft: true, Attempt: 1},
		"p.chaos: attempt 1 gets the injected result fail":          {Policy: "p", Step: "chaos", Kind: sluice.EventInject, Outcome: reducer.Fail, Attempt: 1},
		"breaker: open: 5 calls in a row failed":                    {Step: "breaker", Kind: sluice.EventChange, Mode: breaker.Open, Counts: breaker.Counts{Failed: 5}},
		"p: ended fail after 1s (POST is not idempotent): boom":     {Policy: "p", Kind: sluice.EventEnd, Outcome: reducer.Fail, Elapsed: time.Second, Note: "POST is not idempotent", Err: errBoom},
		"p: attempt 1 failed (timeout), another one runs: too late": {Policy: "p", Kind: sluice.EventFailed, Attempt: 1, Reason: sluice.ReasonTimeout, Err: errors.New("too late")},
	} {
		assert.Equal(t, text, e.String())
	}
	src, err := json.Marshal(sluice.Event{
		Policy: "p", Kind: sluice.EventRetry, Attempt: 1, Reason: sluice.ReasonFail, Wait: time.Second, Elapsed: 1500 * time.Millisecond, RetryAfter: -1,
		Err: errBoom, Key: `"key"`,
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"policy":"p","decision":"retry","key":"\"key\"","reason":"fail","attempt":1,"wait":"1s","elapsed":"1.5s","error":"boom"}`, string(src))
}

// TestEventsPage finds every kind and its constant on the page of events.
func TestEventsPage(t *testing.T) {
	page := read(t, "docs/events.md")
	for kind := sluice.EventAdmit; kind.String() != "unknown"; kind++ {
		name := kind.String()
		assert.Contains(t, page, "\n| `"+name+"` | `Event"+strings.ToUpper(name[:1])+name[1:]+"` |")
	}
}
