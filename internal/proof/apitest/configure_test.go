package apitest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

func reload(t *testing.T, set *sluice.Set, steps ...string) {
	t.Helper()
	require.NoError(t, set.Reload("test.yaml", document(steps...)))
}

func loaded(t *testing.T, steps ...string) (*sluice.Set, *sluice.Pipeline) {
	t.Helper()
	set, err := sluice.Parse("test.yaml", document(steps...))
	require.NoError(t, err)
	return set, set.Pipeline("p")
}

func TestReloadKeepsState(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, p := loaded(t, "limit: 10/1m", "breaker: {window: {consecutive: 2}, open: 1m}", "bulkhead: 3")
		require.Error(t, do(p, fails))
		go func() { _ = do(p, takes(time.Second)) }()
		synctest.Wait()
		reload(t, set, "bulkhead: 1", "limit: 4/1m", "breaker: {window: {consecutive: 2}, open: 2m}")
		assert.Same(t, p, set.Pipeline("p"))
		assert.EqualValues(t, 4, state(t, p, "limit").Free, "of eight free permits")
		assert.Equal(t, "held 1/1", state(t, p, "bulkhead").Text)
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		assert.EqualValues(t, 4, state(t, p, "limit").Free, "the bulkhead comes first now")
		time.Sleep(2 * time.Second)
		require.Error(t, do(p, fails))
		require.Error(t, do(p, fails))
		assert.Equal(t, "open", state(t, p, "breaker").Mode)
	})
}

// TestRateChangedAgainAndAgain changes a rate between 240 and 241 an hour every 10 seconds,
// more often than a permit refills: the limit goes on to admit.
func TestRateChangedAgainAndAgain(t *testing.T) {
	step := func(n int, more string) string {
		return fmt.Sprintf("limit: {rate: %d/1h, burst: 3%s}", 240+n%2, more)
	}
	config := func(n int) limiter.Config {
		return limiter.Config{Count: uint32(240 + n%2), Period: time.Hour, Burst: 3}
	}
	reloads := func(more string) func(*testing.T) (func() bool, func(int)) {
		return func(t *testing.T) (func() bool, func(int)) {
			set, p := loaded(t, step(0, more))
			ask := func() bool {
				_, err := sluice.DoWith(t.Context(), p, sluice.Request{Key: "ann"}, ok)
				return err == nil
			}
			return ask, func(n int) { reload(t, set, step(n, more)) }
		}
	}
	for name, begin := range map[string]func(*testing.T) (ask func() bool, change func(n int)){
		"reload": reloads(""),
		"keyed":  reloads(", per: key"),
		"queue":  reloads(", wait: 1ms"),
		"handle": func(t *testing.T) (func() bool, func(int)) {
			_, p := loaded(t, step(0, ""))
			return func() bool { return do(p, ok) == nil }, func(n int) { require.NoError(t, p.Step("limit").Configure(config(n))) }
		},
		"alone": func(t *testing.T) (func() bool, func(int)) {
			l, err := sluice.NewLimiter(config(0))
			require.NoError(t, err)
			return l.Allow, func(n int) { require.NoError(t, l.Configure(config(n))) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ask, change := begin(t)
				admitted := 0
				for n := range 360 {
					for range 10 {
						if ask() {
							admitted++
						}
						time.Sleep(time.Second)
					}
					change(n + 1)
				}
				// The burst, and 240.5 in an hour.
				assert.Equal(t, 243, admitted)
			})
		})
	}
}

// TestCallsKeepTheirPlan changes the policy under calls that run, wait and sleep.
func TestCallsKeepTheirPlan(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const again = "retry: {attempts: 2, backoff: {constant: 10s}, jitter: none}"
		set, p := loaded(t, again, "limit: {rate: 1/10s, burst: 1, wait: 1m}", "timeout: 5s")
		j := listen(p)
		go func() { _ = do(p, fails) }() // will sleep
		synctest.Wait()
		go func() { _ = do(p, takes(time.Minute)) }() // waits
		synctest.Wait()
		j.take()
		reload(t, set, "limit: {rate: 1/20s, burst: 1, wait: 1m}")
		time.Sleep(time.Hour)
		assert.Equal(t, []string{
			// 0 free permits are carried over: the next comes after an interval.
			"10s wait 2 limit", "20s admit 1", "25s timeout 1 timeout", "25s retry 1 timeout until 35s",
			"35s wait 2 limit", "40s admit 2", "40s end 2 fail attempts",
			"1m0s admit 2", "1m5s timeout 2 timeout", "1m5s end 2 timeout attempts",
		}, j.take())
		require.NoError(t, do(p, takes(20*time.Second)), "the new plan has no timeout")
	})
}

func TestWaitersThatCannotBeServedAreRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, p := loaded(t, "limit: {rate: 10/1s, burst: 10, wait: 1m}")
		call := func(cost uint32) error {
			_, err := sluice.DoWith(context.Background(), p, sluice.Request{Cost: cost}, ok)
			return err
		}
		require.NoError(t, call(10))
		var large, small error
		go func() { large = call(8) }()
		synctest.Wait()
		go func() { small = call(2) }()
		synctest.Wait()
		reload(t, set, "limit: {rate: 1/1s, burst: 2, wait: 1m}")
		synctest.Wait()
		var rejected *sluice.RejectedError
		require.ErrorAs(t, large, &rejected)
		assert.Equal(t, reducer.ReasonCapacity, rejected.Reason)
		assert.True(t, rejected.Waited)
		began := time.Now()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.NoError(t, small)
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Zero(t, state(t, p, "limit").Waiting)
	})
}

func TestABadReloadChangesNothing(t *testing.T) {
	set, p := loaded(t, "limit: 2/1h", "bulkhead: {concurrent: 1, per: key}")
	require.NoError(t, do(p, ok))
	before, plan, doc := p.State(), p.Plan(), set.Document()
	for _, bad := range []string{"limit: 2/1", "limit: 2/1h\n      - limit: {rate: 2/1h, name: limit}", "nonsense: 3", "bulkhead: {concurrent: 0}"} {
		err := set.Reload("bad.yaml", document(bad))
		require.Error(t, err)
		assert.True(t, strings.HasPrefix(err.Error(), "bad.yaml:"), err)
		require.Error(t, set.Reload("bad.yaml", nil))
	}
	require.Error(t, p.Configure(pipeline.Policy{}))
	assert.Equal(t, before, p.State())
	assert.Same(t, plan, p.Plan())
	assert.Same(t, doc, set.Document())
	require.NoError(t, do(p, ok))
	require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
}

func TestPoliciesComeAndGo(t *testing.T) {
	set, p := loaded(t, "limit: 2/1h")
	require.NoError(t, set.Reload("other.yaml", []byte("version: 1\npolicies: {q: {steps: [limit: 1/1h]}}")))
	require.Error(t, set.Pipeline("p").Err())
	assert.Equal(t, []string{"q"}, set.Names())
	require.NoError(t, do(p, ok), "an existing pipeline uses the new steps")
	require.NoError(t, do(set.Pipeline("q"), ok))
	_, err := sluice.Load("missing.yaml")
	require.Error(t, err)
	reload(t, set, "limit: 2/1h")
	assert.Same(t, p, set.Pipeline("p"), "one that comes back is the same")
	require.NoError(t, do(p, ok))
	require.ErrorIs(t, do(set.Pipeline("p"), ok), sluice.ErrRejected, "with its state")
}

func TestSetListensToAllOfItsPipelines(t *testing.T) {
	set, p := loaded(t, "limit: 1/1h")
	var heard []string
	stop := set.Listen(func(e sluice.Event) { heard = append(heard, e.Policy+" "+e.Kind.String()) })
	require.NoError(t, do(p, ok))
	require.NoError(t, set.Reload("other.yaml", []byte("version: 1\npolicies: {q: {steps: [limit: 1/1h]}}")))
	require.NoError(t, do(set.Pipeline("q"), ok))
	require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
	assert.Equal(t, []string{"p admit", "p end", "q added", "p removed", "q admit", "q end", "p reject"}, heard)
	stop()
	stop()
	reload(t, set, "limit: 1/1h")
	require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
	assert.Len(t, heard, 7)
}

// TestLeasesOutliveTheirSetting removes the setting while a place is held: the lease
// of that place still ends at its mark.
func TestLeasesOutliveTheirSetting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, p := loaded(t, "bulkhead: {concurrent: 1, lease: 10s, wait: 1h}")
		j := listen(p)
		go func() { _ = do(p, takes(time.Minute)) }()
		synctest.Wait()
		reload(t, set, "bulkhead: {concurrent: 1, wait: 1h}")
		require.NoError(t, do(p, ok))
		synctest.Wait() // until the lapse is emitted, too
		assert.Contains(t, j.take(), "10s lapse bulkhead")
		time.Sleep(time.Hour)
		assert.Equal(t, "held 0/1", state(t, p, "bulkhead").Text)

		set, p = loaded(t, "bulkhead: {concurrent: 1, lease: 10s}")
		go func() { _ = do(p, takes(time.Minute)) }()
		synctest.Wait()
		reload(t, set, "bulkhead: {concurrent: 1}")
		require.Error(t, do(p, ok))
		time.Sleep(10 * time.Second)
		require.NoError(t, do(p, ok), "the lease ended without waiters")
		time.Sleep(time.Hour)
	})
}

// TestLostHolderOfAnAdaptiveLimit leaves a place with a holder that neither ends nor renews
// it, beside one that renews.
func TestLostHolderOfAnAdaptiveLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, p := loaded(t, "adaptive: {initial: 2, maximum: 2, lease: 10s}")
		j := listen(p)
		go func() { _ = do(p, takes(time.Minute)) }()
		go func() {
			_ = do(p, func(ctx context.Context) (int, error) {
				for range 6 {
					time.Sleep(5 * time.Second)
					assert.True(t, sluice.Renew(ctx))
				}
				return 0, nil
			})
		}()
		synctest.Wait()
		require.Error(t, do(p, ok))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.NoError(t, do(p, ok), "the place of the one that was lost is free")
		synctest.Wait()
		assert.Contains(t, j.take(), "10s lapse adaptive")
		assert.Equal(t, uint32(1), state(t, p, "adaptive").Cell.InUse)
		time.Sleep(time.Hour)
		assert.Equal(t, uint32(0), state(t, p, "adaptive").Cell.InUse)
	})
}

// TestShareOfADeadline: over is a share of the least of the caller's deadline and the
// timeouts around the step and below it, on the fast path as elsewhere.
func TestShareOfADeadline(t *testing.T) {
	for _, c := range []struct {
		steps    []string
		deadline time.Duration
		late     time.Duration // the shortest time that is late
	}{
		{[]string{"adaptive: {over: 50%}"}, 0, 5*time.Second + 1},
		{[]string{"adaptive: {over: 50%}"}, 2 * time.Second, time.Second + 1},
		{[]string{"timeout: 4s", "adaptive: {over: 50%}"}, 0, 2*time.Second + 1},
		{[]string{"timeout: 4s", "adaptive: {over: 50%}", "timeout: {after: 3s, name: below}"}, 0, 1500*time.Millisecond + 1},
		{[]string{"timeout: 4s", "adaptive: {over: 50%}", "retry: 2", "timeout: {after: 3s, name: below}"}, 0, 2*time.Second + 1},
		{[]string{"timeout: 4s", "adaptive: {over: 50%}", "hedge: {after: 10s}", "timeout: {after: 3s, name: below}"}, 3 * time.Second, 1500*time.Millisecond + 1},
		{[]string{"timeout: {after: 1s, shadow: true}", "adaptive: {over: 50%}"}, 3 * time.Second, 1500*time.Millisecond + 1},
		{[]string{"timeout: 4s", "adaptive: {over: 50%, lease: 1h}"}, 0, 2*time.Second + 1},
	} {
		bubble(t, func(t *testing.T) {
			_, p := loaded(t, c.steps...)
			timed := func(took time.Duration) string {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				_, err := sluice.Do(ctx, p, func(context.Context) (int, error) {
					time.Sleep(took)
					return 0, nil
				})
				require.NoError(t, err)
				return state(t, p, "adaptive").Text
			}
			assert.Equal(t, "held 0/20 round 1+0+0", timed(c.late-1), "%v", c)
			assert.Equal(t, "held 0/20 round 1+1+0", timed(c.late), "%v", c)
		})
	}
}

// TestBreakerIsWhatItIsNowWhenItsWindowChanges reloads a breaker whose open
// time is over, and that no call has used since.
func TestBreakerIsWhatItIsNowWhenItsWindowChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, p := loaded(t, "breaker: {window: {consecutive: 1}, open: 1m}")
		require.Error(t, do(p, fails))
		time.Sleep(4 * time.Minute)
		reload(t, set, "breaker: {window: {consecutive: 1}, open: 1h, half_open_max: 2m}")
		assert.Equal(t, "half-open", state(t, p, "breaker").Mode)
	})
}

// TestALeaseComesWhileACallWaits gives a bulkhead a lease while a call waits there: the
// call can renew it.
func TestALeaseComesWhileACallWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set, p := loaded(t, "bulkhead: {concurrent: 1, queue: 1}")
		go func() { _ = do(p, takes(time.Second)) }()
		synctest.Wait()
		waited := make(chan error)
		go func() {
			waited <- do(p, func(ctx context.Context) (int, error) {
				time.Sleep(1500 * time.Millisecond)
				assert.True(t, sluice.Renew(ctx))
				time.Sleep(1500 * time.Millisecond)
				return 0, nil
			})
		}()
		synctest.Wait()
		reload(t, set, "bulkhead: {concurrent: 1, lease: 2s}")
		time.Sleep(3500 * time.Millisecond)
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected, "the lease was renewed")
		require.NoError(t, <-waited)
	})
}

// TestPoliciesAreAnnounced: what a document changed of the set.
func TestPoliciesAreAnnounced(t *testing.T) {
	set := new(sluice.Set)
	recent, metrics := sluice.NewRecent(0), sluice.Metrics{}
	set.Observe(&metrics)
	set.Listen(recent.Observe)
	events := sentencesOf(set, sluice.EventAdded, sluice.EventReplaced, sluice.EventRemoved)
	reload := func(text string) {
		t.Helper()
		require.NoError(t, set.Reload("test.yaml", []byte("version: 1\n"+text)))
	}
	set.Listen(func(e sluice.Event) {
		assert.Equal(t, []any{"q", "", ""}, []any{e.Policy, e.Step, e.Key})
		assert.NoError(t, set.Pipeline("q").Err(), "the set has the policy already, and may be asked")
		set.Listen(func(sluice.Event) {})()
	}, sluice.EventAdded)
	reload("policies: {q: {steps: [limit: 1/1h]}}")
	q := set.Pipeline("q")
	assert.Equal(t, []string{"q: the policy was added"}, events.take(), "of the first document")
	reload("# A line more, and the same.\npolicies:\n  q:\n    steps:\n    - limit: {rate: 1/1h}\n")
	assert.Empty(t, events.take(), "where a policy is does not count")
	require.Error(t, set.Reload("test.yaml", []byte("version: 1\npolicies: {}\n")))
	assert.Empty(t, events.take())
	for what, policy := range map[string]string{
		"a setting": "{steps: [limit: 2/1h]}", "a step": "{steps: [limit: 1/1h, timeout: 1s]}", "a condition": "{deny: {key: x}, steps: [limit: 1/1h]}",
		"the outcomes": "{steps: [limit: 1/1h], outcomes: {fail: [503]}}", "the text": "{steps: [limit: 1/1h], description: slow}",
		"the fallback": "{steps: [limit: 1/1h], fallback: {status: 503}}",
	} {
		reload("policies: {q: " + policy + "}")
		assert.Equal(t, []string{"q: the policy was replaced"}, events.take(), what)
		reload("policies: {q: {steps: [limit: 1/1h]}}")
		assert.Equal(t, []string{"q: the policy was replaced"}, events.take(), what)
	}
	require.NoError(t, q.Step("limit").Configure(sluice.LimiterConfig{Count: 5, Period: time.Second}))
	assert.Empty(t, events.take())
	reload("policies: {q: {steps: [limit: 1/1h]}}")
	assert.Equal(t, []string{"q: the policy was replaced"}, events.take(), "by the settings of the document")
	require.NoError(t, q.Configure(pipeline.Policy{Pass: true}))
	assert.Empty(t, events.take())
	reload("policies: {q: {steps: [limit: 1/1h]}}")
	assert.Equal(t, []string{"q: the policy was replaced"}, events.take(), "by that of the document")

	set = new(sluice.Set)
	events = sentencesOf(set, sluice.EventAdded, sluice.EventReplaced, sluice.EventRemoved)
	reload("policies: {z: {steps: [limit: 1/1h]}, a: {steps: [limit: 1/1h]}, q: {steps: [limit: 1/1h]}}")
	assert.Equal(t, []string{"z: the policy was added", "a: the policy was added", "q: the policy was added"}, events.take())
	reload("mechanisms: {m: {limit: 1/1h}}\npolicies: {q: {steps: [use: m]}, p: {steps: [use: m]}}")
	assert.Equal(t, []string{"q: the policy was replaced", "p: the policy was added", "z: the policy was removed", "a: the policy was removed"}, events.take())
	reload("mechanisms: {m: {limit: 2/1h}}\npolicies: {q: {steps: [use: m]}, p: {steps: [use: m]}}")
	assert.Equal(t, []string{"q: the policy was replaced", "p: the policy was replaced"}, events.take(), "by the settings of what they share")
	reload("policies: {z: {steps: [limit: 1/1h]}}")
	assert.Equal(t, []string{"z: the policy was added", "q: the policy was removed", "p: the policy was removed"}, events.take(), "one that comes back is added")

	kinds := map[string]int{}
	for _, x := range recent.Events() {
		kinds[x.Event.Kind.String()]++
	}
	assert.Equal(t, map[string]int{"added": 1, "replaced": 14, "configured": 17, "manual": 1}, kinds)
	assert.EqualValues(t, 14, metrics.Snapshot().Events[sluice.MetricsKey{Policy: "q", Kind: sluice.EventReplaced}])
}

// TestPoliciesAreLogged also of the first document, which no listener can hear.
func TestPoliciesAreLogged(t *testing.T) {
	var out strings.Builder
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	set, err := sluice.Parse("test.yaml", document("limit: 1/1h"), sluice.WithLogger(logger))
	require.NoError(t, err)
	recent := sluice.NewRecent(0)
	set.Listen(recent.Observe, sluice.EventRemoved)
	require.NoError(t, set.Reload("test.yaml", []byte("version: 1\npolicies: {q: {steps: [limit: 1/1h]}}")))
	assert.Regexp(t, "policy=p event.decision=added\n.*policy=q event.decision=added\n.*policy=p event.decision=removed\n$", out.String())
	text, err := json.Marshal(recent.Events()[0].Event)
	require.NoError(t, err)
	assert.JSONEq(t, `{"policy":"p","decision":"removed"}`, string(text))
}
