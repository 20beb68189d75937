package apitest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
)

// sharing returns the set of a document with mechanisms and policies, each as a flow map.
func sharing(t testing.TB, mechanisms, policies string, options ...sluice.Option) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("test.yaml", sharedDocument(mechanisms, policies), options...)
	require.NoError(t, err)
	return set
}

func sharedDocument(mechanisms, policies string) []byte {
	return fmt.Appendf(nil, "version: 1\nmechanisms: %s\npolicies: %s\n", mechanisms, policies)
}

// passes makes a call and returns whether it was admitted.
func passes(p *sluice.Pipeline) bool {
	_, err := sluice.Do(context.Background(), p, func(context.Context) (int, error) { return 0, nil })
	return err == nil
}

// hold begins a call that runs until the channel is closed, and sends when it is over.
func hold(p *sluice.Pipeline, until chan struct{}) (over chan error) {
	over = make(chan error, 1)
	go func() {
		_, err := sluice.Do(context.Background(), p, func(context.Context) (int, error) { <-until; return 0, nil })
		over <- err
	}()
	return over
}

func TestSharedLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{m: {limit: 3/1m}}`, `{a: {steps: [{use: m}]}, b: {steps: [{limit: 100/s}, {use: {mechanism: m, name: x}}]}, c: {steps: [{limit: 3/1m}]}}`)
		a, b := set.Pipeline("a"), set.Pipeline("b")
		assert.True(t, passes(a))
		assert.True(t, passes(b))
		assert.True(t, passes(a))
		var rejected *sluice.RejectedError
		_, err := sluice.Do(context.Background(), b, func(context.Context) (int, error) { return 0, nil })
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, "b", rejected.Policy)
		assert.Equal(t, "x", rejected.Step)
		assert.False(t, passes(a))
		assert.True(t, passes(set.Pipeline("c")))
		assert.Zero(t, a.State()[0].Free)
		assert.Zero(t, b.State()[1].Free)
	})
}

// A place that a call of one policy frees admits the waiter of another one, in the order in
// which both came, and each waits for its own policy.
func TestSharedBulkheadWakesWaitersOfOtherPolicies(t *testing.T) {
	for name, m := range map[string]string{"one": `{m: {bulkhead: {concurrent: 1, queue: 5}}}`, "keys": `{m: {bulkhead: {concurrent: 1, queue: 5, per: key}}}`} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				set := sharing(t, m, `{a: {steps: [{use: m}]}, b: {steps: [{timeout: 1m}, {use: m}]}}`)
				a, b := set.Pipeline("a"), set.Pipeline("b")
				first, second, third := make(chan struct{}), make(chan struct{}), make(chan struct{})
				one := hold(a, first)
				synctest.Wait()
				two := hold(b, second)
				synctest.Wait()
				three := hold(a, third)
				synctest.Wait()
				assert.Equal(t, 2, a.State()[0].Waiting)
				assert.Equal(t, 2, b.State()[0].Waiting)
				time.Sleep(time.Second)
				close(first)
				require.NoError(t, <-one)
				synctest.Wait()
				assert.Equal(t, 1, a.State()[0].Waiting)
				assert.Equal(t, uint64(1), b.State()[0].Waits, "of the calls of the policy")
				assert.Zero(t, a.State()[0].Waits)
				close(second)
				require.NoError(t, <-two)
				close(third)
				require.NoError(t, <-three)
				assert.Equal(t, time.Second, b.State()[0].Waited)
			})
		})
	}
}

func TestSharedBreaker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{m: {breaker: {window: {consecutive: 2}, open: 10s}}}`, `{a: {steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		a, b := set.Pipeline("a"), set.Pipeline("b")
		var changes []string
		set.Listen(func(e sluice.Event) { changes = append(changes, e.Policy+"/"+e.Step+" "+e.Mode.String()) }, sluice.EventChange)
		for _, p := range []*sluice.Pipeline{a, b} {
			_, err := sluice.Do(context.Background(), p, func(context.Context) (int, error) { return 0, errBoom })
			require.ErrorIs(t, err, errBoom)
		}
		assert.Equal(t, []string{"a/m open", "b/m open"}, changes, "at each policy that has the breaker")
		assert.False(t, passes(a))
		time.Sleep(10 * time.Second)
		assert.True(t, passes(a))
	})
}

func TestSharedBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{r: {retry: {attempts: 2, backoff: none, budget: {ratio: 50%, minimum: 1/24h}}}}`,
			`{a: {steps: [{use: r}]}, b: {steps: [{use: r}, {bulkhead: 5}]}}`)
		attempts := 0
		fails := func(name string) {
			_, _ = sluice.Do(context.Background(), set.Pipeline(name), func(context.Context) (int, error) { attempts++; return 0, errBoom })
		}
		fails("a")
		assert.Equal(t, 1, attempts, "half a retry")
		fails("b")
		assert.Equal(t, 3, attempts, "the calls of both give one")
		fails("b")
		assert.Equal(t, 4, attempts)
	})
}

func TestSharedReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{m: {limit: 3/1m}}`, `{a: {steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		a, b := set.Pipeline("a"), set.Pipeline("b")
		require.True(t, passes(a) && passes(b))
		reload := func(mechanisms, policies string) {
			t.Helper()
			require.NoError(t, set.Reload("test.yaml", sharedDocument(mechanisms, policies)))
		}
		// Policies come and go; the mechanism keeps its state by its name.
		reload(`{m: {limit: 3/1m}}`, `{c: {steps: [{use: {mechanism: m, name: other}}]}, b: {steps: [{limit: 9/s}]}, a: {pass: true}}`)
		c := set.Pipeline("c")
		assert.True(t, passes(c))
		assert.False(t, passes(c))
		assert.True(t, passes(b))
		reload(`{m: {limit: 4/1m}}`, `{c: {steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		assert.False(t, passes(b), "a limit that is raised mints nothing")
		time.Sleep(time.Minute)
		assert.True(t, passes(c) && passes(b) && passes(c) && passes(b))
		assert.False(t, passes(c))
		// Another kind, or other attributes: another mechanism.
		reload(`{m: {bulkhead: 1}}`, `{c: {steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		assert.True(t, passes(c) && passes(b))
		reload(`{m: {limit: {rate: 1/1m, per: key}}}`, `{c: {steps: [{use: m}]}, b: {steps: [{use: m}]}}`)
		assert.True(t, passes(c))
		assert.False(t, passes(b))
		// A mechanism that no policy has is forgotten.
		reload(`{m: {limit: {rate: 1/1m, per: key}}}`, `{c: {pass: true}, b: {pass: true}}`)
		reload(`{m: {limit: {rate: 1/1m, per: key}}}`, `{c: {steps: [{use: m}]}, b: {pass: true}}`)
		assert.True(t, passes(c))
	})
}

func TestSharedHandles(t *testing.T) {
	bubble(t, func(t *testing.T) {
		set := sharing(t, `{m: {breaker: {}}, k: {limit: {rate: 1/1m, per: key}}}`,
			`{a: {steps: [{use: m}, {use: k}]}, b: {steps: [{use: {mechanism: m, name: mine}}, {use: k}]}}`)
		a, b := set.Pipeline("a"), set.Pipeline("b")
		var events []string
		set.Listen(func(e sluice.Event) { events = append(events, fmt.Sprint(e.Kind, " ", e.Policy, "/", e.Step)) }, sluice.EventManual, sluice.EventChange)
		require.NoError(t, a.Step("m").Transition(breaker.ForcedOpen))
		assert.False(t, passes(b))
		require.NoError(t, b.Step("mine").Reset())
		assert.True(t, passes(a))
		require.NoError(t, b.Step("k").Key("").Reset())
		assert.Equal(t, []string{"change a/m", "change b/mine", "manual a/m", "change a/m", "change b/mine", "manual b/mine", "manual b/k"}, events)
		assert.True(t, passes(b))
		require.NoError(t, a.Step("k").Configure(limiter.Config{Count: 2, Period: time.Minute}))
		assert.Equal(t, uint32(2), pipeline.ConfigOf[limiter.Config](b.Plan().Step(1)).Count, "the other policy takes it over")
		require.NoError(t, b.Step("k").Key("x").Block(time.Minute))
		_, err := sluice.DoWith(context.Background(), a, sluice.Request{Key: "x"}, func(context.Context) (int, error) { return 0, nil })
		var rejected *sluice.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, sluice.ReasonBlocked, rejected.Reason)
	})
}

func TestSharedSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const mechanisms, policies = `{m: {limit: 2/1m}}`, `{a: {steps: [{use: m}]}, b: {steps: [{use: {mechanism: m, name: x}}]}}`
		set := sharing(t, mechanisms, policies)
		require.True(t, passes(set.Pipeline("a")) && passes(set.Pipeline("b")))
		saved := set.Pipeline("b").Snapshot()
		next := sharing(t, mechanisms, policies)
		require.NoError(t, next.Pipeline("b").Restore(saved))
		assert.False(t, passes(next.Pipeline("a")))
	})
}

func TestWithMechanisms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var m sluice.Mechanisms
		of := func(name string, count uint32, shared ...sluice.Option) *sluice.Pipeline {
			p, err := sluice.New(sluice.Policy{Name: name, Steps: []pipeline.Step{
				{Config: bulkhead.Config{Concurrent: 9}},
				{Config: limiter.Config{Count: count, Period: time.Minute}, Mechanism: "vendor"},
			}}, shared...)
			require.NoError(t, err)
			return p
		}
		a, b, alone := of("a", 2, sluice.WithMechanisms(&m)), of("b", 2, sluice.WithMechanisms(&m)), of("c", 2)
		assert.Equal(t, "vendor", a.Plan().StepName(1))
		assert.True(t, passes(a) && passes(b))
		assert.False(t, passes(a))
		assert.True(t, passes(alone))
		of("d", 1, sluice.WithMechanisms(&m))
		assert.Equal(t, uint32(1), pipeline.ConfigOf[limiter.Config](a.Plan().Step(1)).Count)
		_, err := sluice.New(sluice.Policy{Steps: []pipeline.Step{
			{Config: limiter.Config{Count: 1, Period: time.Minute}, Mechanism: "vendor"},
			{Config: limiter.Config{Count: 1, Period: time.Minute}, Mechanism: "vendor", Name: "again"},
		}})
		assert.ErrorContains(t, err, "another step has its state")
		_, err = sluice.NewLimiter(limiter.Config{Count: 1, Period: time.Minute}, sluice.WithMechanisms(&m))
		assert.ErrorContains(t, err, "WithMechanisms has no effect on a Limiter")
	})
}

// Calls of several policies pass mechanisms in different orders at the same time, while
// documents come and go: there is no deadlock, and never are there more calls than places.
func TestSharedInParallel(t *testing.T) {
	const places = 3
	documents := [][]byte{
		sharedDocument(`{x: {bulkhead: {concurrent: 3, queue: 100}}, y: {limit: {rate: 1000000/s}}, z: {breaker: {}}, k: {bulkhead: {concurrent: 3, per: key}}}`,
			`{a: {steps: [{use: z}, {use: y}, {use: x}]}, b: {steps: [{use: x}, {use: y}, {use: z}]}, c: {steps: [{limit: 1000000/s}, {use: k}, {use: y}, {use: x}]}}`),
		sharedDocument(`{x: {bulkhead: {concurrent: 3, queue: 50}}, y: {limit: {rate: 1000000/s}}, z: {breaker: {}}, k: {bulkhead: {concurrent: 3, per: key}}}`,
			`{a: {steps: [{use: x}, {use: z}]}, b: {steps: [{use: z}, {use: x}]}, c: {steps: [{use: x}, {use: k}, {use: y}]}}`),
	}
	set, err := sluice.Parse("test.yaml", documents[0])
	require.NoError(t, err)
	var running, most, calls atomic.Int64
	var wg sync.WaitGroup
	for n := range 9 {
		p := set.Pipeline(string(rune('a' + n%3)))
		wg.Go(func() {
			for range 300 {
				_, err := sluice.Do(context.Background(), p, func(context.Context) (int, error) {
					now := running.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					calls.Add(1)
					running.Add(-1)
					return 0, nil
				})
				var rejected *sluice.RejectedError
				if err != nil && !errors.As(err, &rejected) {
					t.Error(err)
				}
			}
		})
	}
	for n := range 40 {
		require.NoError(t, set.Reload("test.yaml", documents[(n+1)%2]))
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int64(places))
	assert.Positive(t, calls.Load())
	for _, name := range []string{"a", "b", "c"} {
		for _, s := range set.Pipeline(name).State() {
			assert.Zero(t, s.Waiting)
			assert.Zero(t, s.Cell.InUse)
		}
	}
}

// The trace of a set whose policies share a mechanism: all of them decide it again.
func TestSharedTrace(t *testing.T) {
	const mechanisms, policies = `{m: {limit: {rate: 2/1m, wait: 2m, queue: 1}}}`, `{a: {steps: [{use: m}]}, b: {steps: [{retry: {attempts: 2, backoff: none}}, {use: {mechanism: m, name: x}}]}}`
	var text bytes.Buffer
	bubble(t, func(t *testing.T) {
		set := sharing(t, mechanisms, policies, sluice.WithSeed(7))
		tr, err := set.Trace(sluice.TraceOptions{Writer: &text})
		require.NoError(t, err)
		for _, name := range []string{"a", "b", "b", "a", "b"} {
			_, _ = sluice.Do(context.Background(), set.Pipeline(name), func(context.Context) (int, error) { return 0, errBoom })
			time.Sleep(time.Second)
		}
		require.NoError(t, tr.Stop())
	})
	var events, decisions string
	for line := range strings.Lines(text.String()) {
		switch {
		case strings.Contains(line, `"op":`):
			events += line
		case strings.Contains(line, `"decision":`):
			decisions += line
		}
	}
	doc, err := policy.Parse("test.yaml", sharedDocument(mechanisms, policies))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, eval.RunAll([]pipeline.Policy{doc.Policies[0].Policy, doc.Policies[1].Policy}, eval.Options{Seed: 7}, strings.NewReader(events), &out), events)
	assert.Equal(t, decisions, out.String())
	assert.Contains(t, decisions, `"wait"`)
}
