package apitest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// twins are two pipelines of one policy. Calls of the second do not take the fast path.
type twins struct {
	pipelines [2]*sluice.Pipeline
	journals  [2]*journal
	calls     [2][]*sluice.Call
	rng       *rand.Rand
}

// begin begins a call in both.
func (w *twins) begin(ctx context.Context, key string) (told [2]string) {
	var all sync.WaitGroup
	for i, p := range w.pipelines {
		all.Go(func() {
			c, err := p.Begin(ctx, sluice.Request{Key: key, Holdable: i == 1})
			if err == nil {
				w.calls[i] = append(w.calls[i], c)
			}
			told[i] = fmt.Sprint(err)
		})
	}
	all.Wait()
	return told
}

// step does something at random, and returns what.
func (w *twins) step(ctx context.Context) (what string, told [2]string) {
	n := len(w.calls[0])
	if n == 0 || w.rng.IntN(3) == 0 {
		key := string(rune('a' + w.rng.IntN(3)))
		var cancel context.CancelFunc = func() {}
		if w.rng.IntN(4) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(1+w.rng.IntN(4))*700*time.Millisecond+33*time.Millisecond) // with no timeout at once
		}
		context.AfterFunc(ctx, cancel)
		return "begin " + key, w.begin(ctx, key)
	}
	k, d, o := w.rng.IntN(n), time.Duration(w.rng.IntN(20))*100*time.Millisecond, reducer.Outcome(1+w.rng.IntN(int(reducer.Cancelled)))
	act, after := w.rng.IntN(5), time.Duration(w.rng.IntN(4)-1)*time.Second
	if act == 0 {
		time.Sleep(d)
		return fmt.Sprint("sleep ", d), told
	}
	for i := range w.calls {
		c := w.calls[i][k]
		switch act {
		case 1:
			c.Done(reducer.OK)
		case 2:
			c.DoneRetryAfter(o, after)
		case 3:
			c.Release()
		case 4:
			_ = c.Context().Done()
		}
		// The caller's own deadline ends the context by a timer of its own and by one of the call.
		cause := strings.Replace(fmt.Sprint(context.Cause(c.Context())), "sluice: p.deadline: timed out", "context deadline exceeded", 1)
		told[i] = fmt.Sprint(c.Context().Err(), cause)
	}
	return fmt.Sprint([]string{"", "done ok ", fmt.Sprint("done ", o, " after ", after, " "), "release ", "context "}[act], k), told
}

// state is what is visible of both.
func (w *twins) state() (told [2]string) {
	for i, p := range w.pipelines {
		var text strings.Builder
		for _, s := range p.State() {
			fmt.Fprint(&text, s.Step, " ", s.Text, " ", s.Mode, " ", s.Free, " ", s.Waiting, " ", s.Used, " ", s.InUse, "\n")
		}
		told[i] = text.String() + strings.Join(w.journals[i].all(), "\n")
	}
	return told
}

// TestBeginAgreesWithItsSlowPath plays random calls through two pipelines of one
// policy, of which one never takes the fast path.
func TestBeginAgreesWithItsSlowPath(t *testing.T) {
	const breaker = "breaker: {window: {calls: 4}, minimum: 2, failure_rate: 50%, slow: {over: 1s, rate: 60%}, open: 2s, probes: 1}"
	policies := [][]string{
		{"bulkhead: 2"},
		{breaker, "bulkhead: {concurrent: 2, per: key}", "timeout: 1500ms"},
		{"bulkhead: {name: outer, concurrent: 3}", breaker, "limit: 4/3s", "bulkhead: {name: inner, concurrent: 2, wait: 500ms}"},
		{"timeout: 2s", "retry: {attempts: 2, budget: 20%}", "bulkhead: {concurrent: 2, per: key, wait: 300ms}", breaker},
		{"breaker: {window: {calls: 4}, minimum: 3, obey_retry_after: 1500ms}", "retry: 3", "bulkhead: 2"},
		{"retry: 3", "breaker: {window: {calls: 4}, minimum: 3, obey_retry_after: 1500ms, per: key}", "timeout: 3s"},
		{"bulkhead: {concurrent: 2, when: {key: a}}", "timeout: {after: 1500ms, when: {key: b}}", breaker, "limit: {rate: 4/3s, when: {not: {key: c}}}", "bulkhead: {name: last, concurrent: 3}"},
		{"retry: {attempts: 2, budget: 20%, when: {key: [a, b]}}", "breaker: {window: {calls: 4}, minimum: 2, open: 2s, probes: 1, per: key, when: {key: [b, c]}}", "limit: {rate: 2/3s, class: key, rates: {a: 3/2s, b: 4/3s}, wait: 300ms}"},
		{"bulkhead: {concurrent: 1, shadow: true}", "limit: {rate: 3/2s, per: key}", "adaptive: {initial: 2, minimum: 1, maximum: 4}"},
	}
	for d := range testenv.Draws(t, 400) {
		seed, i := d.Seed, d.Case
		bubble(t, func(t *testing.T) {
			w := &twins{rng: rand.New(rand.NewPCG(seed, uint64(i)))}
			steps := policies[i%len(policies)]
			for k := range w.pipelines {
				w.pipelines[k] = guarded(t, steps, sluice.WithSeed(1))
				w.journals[k] = listen(w.pipelines[k])
			}
			var log []string
			for range 40 {
				what, told := w.step(t.Context())
				synctest.Wait()
				log = append(log, what)
				require.Equal(t, told[1], told[0], "SLUICE_SEED=%d, case %d:\n%s\n%s", seed, i, steps, strings.Join(log, "\n"))
				require.Len(t, w.calls[0], len(w.calls[1]))
				state := w.state()
				require.Equal(t, state[1], state[0], "SLUICE_SEED=%d, case %d:\n%s\n%s", seed, i, steps, strings.Join(log, "\n"))
			}
			for k := range w.calls {
				for _, c := range w.calls[k] {
					c.Release()
				}
			}
			state := w.state()
			assert.Equal(t, state[1], state[0])
			assert.Zero(t, held(w.pipelines[0]))
		})
	}
}

// held is how many places of a pipeline are held.
func held(p *sluice.Pipeline) (n int) {
	for _, s := range p.State() {
		n += s.InUse
		if taken, _, ok := strings.Cut(strings.TrimPrefix(s.Text, "held "), "/"); ok && strings.HasPrefix(s.Text, "held ") && taken != "0" {
			n++
		}
	}
	return n
}

// TestReleaseAndDoneAtOnce, as by the watch of a stream and its handler: the place is
// released once.
func TestReleaseAndDoneAtOnce(t *testing.T) {
	p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 2}", "breaker: {window: {calls: 10}, minimum: 10}", "bulkhead: {name: inner, concurrent: 2, per: key}"})
	for i := range 2_000 {
		other, err := p.Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		c, err := p.Begin(t.Context(), sluice.Request{})
		require.NoError(t, err)
		var all sync.WaitGroup
		all.Go(c.Release)
		all.Go(func() { c.Done([]reducer.Outcome{reducer.OK, reducer.Ignore}[i%2]) })
		all.Go(c.Release)
		all.Wait()
		assert.Equal(t, "held 1/2", state(t, p, "outer").Text)
		other.Done(reducer.OK)
		assert.Equal(t, "held 1/2", state(t, p, "outer").Text, "until Release")
		other.Release()
		require.Equal(t, "held 0/2", state(t, p, "outer").Text)
		require.Zero(t, held(p))
	}
}
