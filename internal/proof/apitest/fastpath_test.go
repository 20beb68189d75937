package apitest_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
)

// happy returns a pipeline with every kind of cell whose calls use the fast path. Its
// first call, which starts the breakers' clocks, has already run without the fast path.
func happy(t *testing.T, options ...sluice.Option) *sluice.Pipeline {
	p := guarded(t, []string{
		"timeout: 1m",
		"breaker: {name: outer, window: {calls: 10}, failure_rate: 50%, minimum: 4, open: 10s}",
		"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none, budget: 50%}",
		"limit: {rate: 5/1s, wait: 10s}",
		"breaker: {name: inner, window: {calls: 10}, failure_rate: 50%, minimum: 4, open: 10s}",
		"bulkhead: {concurrent: 2, wait: 1m}",
		"timeout: {after: 5s, soft: 4s}",
	}, options...)
	require.NoError(t, do(p, ok))
	return p
}

func texts(t *testing.T, p *sluice.Pipeline, want ...string) {
	t.Helper()
	var got []string
	for _, step := range p.State() {
		got = append(got, step.Text)
	}
	assert.Equal(t, want, got)
}

func TestFastPathIsLeftBy(t *testing.T) {
	const full = "free 5/5"
	for name, c := range map[string]struct {
		play func(t *testing.T, p *sluice.Pipeline)
		log  []string
		want []string
	}{
		"nothing": {
			play: func(t *testing.T, p *sluice.Pipeline) { require.NoError(t, do(p, ok)) },
			log:  []string{"0s admit 1", "0s end 1 ok"},
			want: []string{"closed failed 0/2", "retries left 101", "free 3/5", "closed failed 0/2", "held 0/2"},
		},
		"a failure": {
			play: func(t *testing.T, p *sluice.Pipeline) { require.Error(t, do(p, fails)) },
			log:  []string{"0s admit 1", "0s retry 1 fail until 1s", "1s admit 2", "1s end 2 fail attempts"},
			want: []string{"closed failed 1/2", "retries left 100", "free 4/5", "closed failed 2/3", "held 0/2"},
		},
		"a panic": {
			play: func(t *testing.T, p *sluice.Pipeline) {
				assert.Equal(t, "boom", recovered(func() { _ = do(p, func(context.Context) (int, error) { panic("boom") }) }))
			},
			log:  []string{"0s admit 1", "0s end 1 fail"},
			want: []string{"closed failed 1/2", "retries left 101", "free 3/5", "closed failed 1/2", "held 0/2"},
		},
		"Goexit": {
			play: func(t *testing.T, p *sluice.Pipeline) {
				go func() { _ = do(p, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil }) }()
				synctest.Wait()
			},
			log:  []string{"0s admit 1", "0s end 1 fail"},
			want: []string{"closed failed 1/2", "retries left 101", "free 3/5", "closed failed 1/2", "held 0/2"},
		},
		"a timeout": {
			play: func(t *testing.T, p *sluice.Pipeline) { require.Error(t, do(p, takes(time.Hour))) },
			log: []string{"0s admit 1", "4s timeout 1 timeout-2 soft", "5s timeout 1 timeout-2", "5s retry 1 timeout until 6s",
				"6s admit 2", "10s timeout 2 timeout-2 soft", "11s timeout 2 timeout-2", "11s end 2 timeout attempts"},
			want: []string{"closed failed 1/2", "retries left 99", full, "closed failed 2/3", "held 0/2"},
		},
		"a warning": {
			play: func(t *testing.T, p *sluice.Pipeline) { require.NoError(t, do(p, takes(4*time.Second))) },
			log:  []string{"0s admit 1", "4s timeout 1 timeout-2 soft", "4s end 1 ok"},
			want: []string{"closed failed 0/2", "retries left 101", full, "closed failed 0/2", "held 0/2"},
		},
		"a wait at the bulkhead": {
			play: func(t *testing.T, p *sluice.Pipeline) {
				for range 3 {
					go func() { _ = do(p, takes(3*time.Second)) }()
				}
				time.Sleep(10 * time.Second)
			},
			log:  []string{"0s admit 1", "0s admit 1", "0s wait 1 bulkhead", "3s end 1 ok", "3s admit 1", "3s end 1 ok", "6s end 1 ok"},
			want: []string{"closed failed 0/4", "retries left 100", full, "closed failed 0/4", "held 0/2"},
		},
		"a caller that was cancelled before": {
			play: func(t *testing.T, p *sluice.Pipeline) {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := sluice.Do(ctx, p, ok)
				require.ErrorIs(t, err, context.Canceled)
			},
			want: []string{"closed failed 0/1", "retries left 100", "free 4/5", "closed failed 0/1", "held 0/2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := happy(t)
				j := listen(p)
				c.play(t, p)
				assert.ElementsMatch(t, c.log, j.all())
				texts(t, p, c.want...)
			})
		})
	}
}

// TestListenerPanicsAtASuccess has a breaker open at a success and its listener
// panic: the other breaker still records a success.
func TestListenerPanicsAtASuccess(t *testing.T) {
	for _, more := range [][]string{{"bulkhead: {concurrent: 1, lease: 1h}"}, nil} { // by a run, by a fast path
		bubble(t, func(t *testing.T) {
			p := guarded(t, append([]string{
				"breaker: {name: outer, window: {calls: 10}, failure_rate: 50%, minimum: 4, open: 10s}",
				"breaker: {name: inner, window: {calls: 10}, failure_rate: 99%, slow: {over: 1s, rate: 1%}, minimum: 2, open: 10s}",
			}, more...), quiet())
			require.NoError(t, do(p, ok))
			stop := p.Listen(func(e sluice.Event) {
				if e.Kind == decision.Change {
					panic("listener")
				}
			})
			_, err := sluice.DoWith(t.Context(), p, sluice.Request{}, takes(2*time.Second))
			require.NoError(t, err)
			stop()
			assert.Equal(t, "closed failed 0/2", state(t, p, "outer").Text)
		})
	}
}

// ticking is a clock that advances by a nanosecond with every read.
type ticking struct{ at atomic.Int64 }

func (c *ticking) Now() clock.Mark { return clock.Mark(c.at.Add(1)) }

// TestTheEndIsOneMark has a call end just before its timeout while another call waits
// at one of its steps, so that it leaves the fast path while it leaves its steps.
func TestTheEndIsOneMark(t *testing.T) {
	source := &ticking{}
	source.at.Store(int64(time.Second))
	p := guarded(t, []string{
		"timeout: 5s",
		"breaker: {name: outer, window: {calls: 10}, failure_rate: 50%, minimum: 4, open: 10s}",
		"bulkhead: {concurrent: 1, wait: 1h}",
		"breaker: {name: inner, window: {calls: 10}, failure_rate: 50%, minimum: 4, open: 10s}",
	}, sluice.WithClock(source), sluice.WithRefuseLate())
	require.NoError(t, do(p, ok))
	var began clock.Mark
	p.Listen(func(e sluice.Event) {
		if e.Attempt == 1 && began == 0 {
			began = e.At
		}
	})
	var waiting sync.WaitGroup
	_, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) {
		source.at.Add(int64(time.Second)) // the other one has more time
		waiting.Go(func() { _ = do(p, ok) })
		for state(t, p, "bulkhead").Waiting == 0 {
			runtime.Gosched()
		}
		source.at.Store(int64(began.Add(5*time.Second)) - 2)
		return 1, nil
	})
	require.NoError(t, err)
	waiting.Wait()
	assert.Equal(t, "closed failed 0/3", state(t, p, "outer").Text)
}

// changing is a source that calls a function when it is read for the first time.
type changing struct {
	clock.Virtual
	change func()
}

func (c *changing) Now() clock.Mark {
	if change := c.change; change != nil {
		c.change = nil
		change()
	}
	return c.Virtual.Now()
}

// TestConfiguredOnTheFastPath gives a bulkhead a queue after a call has read the
// policy without one, and before it asks: the call is refused, and leaves nothing in
// the queue.
func TestConfiguredOnTheFastPath(t *testing.T) {
	for _, per := range []string{"", ", per: key"} {
		bubble(t, func(t *testing.T) {
			var source changing
			p := guarded(t, []string{"bulkhead: {concurrent: 1" + per + "}"}, sluice.WithClock(&source))
			set, _ := loaded(t, "bulkhead: {concurrent: 1, queue: 5"+per+"}")
			held, err := p.Begin(t.Context(), sluice.Request{Key: "a"})
			require.NoError(t, err)
			source.change = func() { require.NoError(t, p.Configure(set.Document().Policies[0].Policy)) }
			require.ErrorIs(t, keyed(p, "a"), sluice.ErrRejected)
			assert.Zero(t, state(t, p, "bulkhead").Waiting)
			held.Release()
			require.NoError(t, keyed(p, "a"))
		})
	}
}

// A token-bucket budget counts the successes of the fast path, as it counts the successes of
// other calls.
func TestFastPathReturnsTokens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {calls: 10}, minimum: 10}", "retry: {attempts: 2, backoff: none, budget: {tokens: 20}}", "bulkhead: 2"})
		left := func() string { return p.State()[1].Text }
		require.NoError(t, do(p, ok))
		assert.Equal(t, "tokens 20", left())
		require.Error(t, do(p, fails))
		assert.Equal(t, "tokens 15", left())
		require.NoError(t, do(p, ok))
		require.NoError(t, do(p, ok))
		assert.Equal(t, "tokens 17", left())
		runs := 0
		require.NoError(t, do(p, func(context.Context) (int, error) {
			if runs++; runs == 1 {
				return 0, errBoom
			}
			return 0, nil
		}))
		assert.Equal(t, "tokens 17", left())
	})
}

// TestOneReadingOfTheClock is enough where nothing depends on when the function returned.
func TestOneReadingOfTheClock(t *testing.T) {
	for _, c := range []struct {
		step  string
		reads int64
	}{{"limit: 9/1s", 1}, {"limit: {rate: 9/1s, per: key}", 1}, {"bulkhead: 9", 2}, {"breaker: {window: {calls: 100}}", 2}} {
		source := &counting{}
		p := guarded(t, []string{c.step}, sluice.WithClock(source))
		require.NoError(t, do(p, ok))
		reads := func() int64 {
			before := source.reads.Load()
			require.NoError(t, do(p, ok))
			return source.reads.Load() - before
		}
		assert.Equal(t, c.reads, reads(), c.step)
		stop := p.Listen(func(sluice.Event) {})
		assert.EqualValues(t, 2, reads(), c.step)
		stop()
		assert.Equal(t, c.reads, reads(), c.step)
	}
}
