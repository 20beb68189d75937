package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
)

// attempts is a function whose attempts take the given times, by their numbers, and
// fail where fails says so. It records the causes with which their contexts ended.
type attempts struct {
	takes  []time.Duration
	fails  map[uint32]bool
	deaf   bool // they ignore their context
	mu     sync.Mutex
	causes map[uint32]error
}

func (a *attempts) do(ctx context.Context) (uint32, error) {
	number, hedge, ok := sluice.AttemptOf(ctx)
	if !ok || hedge != (number > 1) && len(a.takes) < 4 {
		panic(fmt.Sprint("attempt ", number, hedge, ok))
	}
	timer := time.NewTimer(a.takes[number-1])
	defer timer.Stop()
	done := ctx.Done()
	if a.deaf {
		done = nil
	}
	var err error
	select {
	case <-timer.C:
		if a.fails[number] {
			err = fmt.Errorf("attempt %d: %w", number, errBoom)
		}
	case <-done:
		err = ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.causes == nil {
		a.causes = map[uint32]error{}
	}
	a.causes[number] = context.Cause(ctx)
	return number, err
}

func (a *attempts) cause(number uint32) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.causes[number]
}

// TestHedges plays calls whose attempts take a while, and reads what was decided.
func TestHedges(t *testing.T) {
	const s = time.Second
	two := map[uint32]bool{1: true, 2: true}
	for name, c := range map[string]struct {
		steps []string
		fn    *attempts
		want  uint32 // the winner, 0 for none
		took  time.Duration
		log   []string
	}{
		"no need": {
			steps: []string{"hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{s}}, want: 1, took: s,
			log: []string{"0s admit 1", "1s end 1 ok won 1"},
		},
		"the hedge wins": {
			steps: []string{"hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{9 * s, s}}, want: 2, took: 3 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s cancel 1", "3s end 2 ok won 2"},
		},
		"the first one wins": {
			steps: []string{"hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{3 * s, 9 * s}}, want: 1, took: 3 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s cancel 2", "3s end 2 ok won 1"},
		},
		"a failure while another one lives": {
			steps: []string{"hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{3 * s, 3 * s}, fails: map[uint32]bool{1: true}}, want: 2, took: 5 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s failed 1 fail", "5s end 2 ok won 2"},
		},
		"all fail": {
			steps: []string{"hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{3 * s, 3 * s}, fails: two}, took: 5 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s failed 1 fail", "5s end 2 fail"},
		},
		"all at once": {
			steps: []string{"hedge: {parallel: true, max: 2}"}, fn: &attempts{takes: []time.Duration{3 * s, s, 2 * s}}, want: 2, took: s,
			log: []string{"0s admit 1", "0s hedge 2 hedge", "0s admit 2", "0s hedge 3 hedge", "0s admit 3", "1s cancel 1", "1s cancel 3", "1s end 3 ok won 2"},
		},
		"a budget": {
			steps: []string{"hedge: {after: 1s, max: 2, budget: {ratio: 1%, minimum: 1/10s, window: 10s}}"}, fn: &attempts{takes: []time.Duration{4 * s, 9 * s}}, want: 1, took: 4 * s,
			log: []string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "4s cancel 2", "4s end 2 ok won 1"},
		},
		"a timeout below": {
			steps: []string{"hedge: {after: 2s}", "timeout: 3s"}, fn: &attempts{takes: []time.Duration{9 * s, 2 * s}}, want: 2, took: 4 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s timeout 1 timeout", "3s failed 1 timeout", "4s end 2 ok won 2"},
		},
		"a timeout above": {
			steps: []string{"timeout: 3s", "hedge: {after: 2s}"}, fn: &attempts{takes: []time.Duration{9 * s, 9 * s}}, took: 3 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s timeout 1 timeout", "3s end 2 timeout"},
		},
		"a retry around": {
			steps: []string{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "hedge: {after: 2s}"},
			fn:    &attempts{takes: []time.Duration{3 * s, 3 * s, 9 * s, s}, fails: two}, want: 4, took: 9 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s admit 2", "3s failed 1 fail", "5s retry 2 fail until 6s",
				"6s admit 3", "8s hedge 4 hedge", "8s admit 4", "9s cancel 3", "9s end 4 ok won 4"},
		},
		"a refused hedge": {
			steps: []string{"hedge: {after: 2s}", "bulkhead: 1"}, fn: &attempts{takes: []time.Duration{3 * s}}, want: 1, took: 3 * s,
			log: []string{"0s admit 1", "2s hedge 2 hedge", "2s drop 2 bulkhead full", "3s end 1 ok won 1"},
		},
		"a soft limit": {
			steps: []string{"timeout: {name: whole, after: 9s, soft: 3s}", "hedge: {after: 2s}", "timeout: {after: 8s, soft: 1s}"},
			fn:    &attempts{takes: []time.Duration{9 * s, 2 * s}}, want: 2, took: 4 * s,
			log: []string{"0s admit 1", "1s timeout 1 timeout-2 soft", "2s hedge 2 hedge", "2s admit 2", "3s timeout 1 whole soft", "3s timeout 2 timeout-2 soft",
				"4s cancel 1", "4s end 2 ok won 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, c.steps)
				j := listen(p)
				began := time.Now()
				value, err := sluice.Do(t.Context(), p, c.fn.do)
				assert.Equal(t, c.took, time.Since(began))
				assert.Equal(t, c.log, j.all())
				synctest.Wait()
				if c.want > 0 {
					require.NoError(t, err)
					assert.Equal(t, c.want, value)
				} else {
					require.Error(t, err)
				}
			})
		})
	}
}

func TestHedgeLosersAreCancelledWithACause(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: 1m", "hedge: {after: 1s, max: 2}"})
		fn := &attempts{takes: []time.Duration{time.Hour, time.Second, time.Hour}}
		_, err := sluice.Do(t.Context(), p, fn.do)
		require.NoError(t, err)
		synctest.Wait()
		require.ErrorIs(t, fn.cause(1), sluice.ErrHedgeLost)
		require.NotErrorIs(t, fn.cause(2), sluice.ErrHedgeLost)

		cut := &attempts{takes: []time.Duration{time.Hour, time.Hour, time.Hour}}
		_, err = sluice.Do(t.Context(), p, cut.do)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		var timeout *sluice.TimeoutError
		for n := range uint32(3) {
			require.ErrorAs(t, cut.cause(n+1), &timeout)
		}
	})
}

// TestHedgedCallsDoNotWaitForLosers has attempts that ignore their contexts: the call
// returns with the winner, and the place of a loser is held until its function returns,
// as is the place that all attempts of the call share.
func TestHedgedCallsDoNotWaitForLosers(t *testing.T) {
	for _, steps := range [][]string{
		{"hedge: {after: 1s}", "bulkhead: {concurrent: 5}"},
		{"bulkhead: {concurrent: 5}", "hedge: {after: 1s}"},
	} {
		bubble(t, func(t *testing.T) {
			p := guarded(t, steps)
			fn := &attempts{takes: []time.Duration{10 * time.Second, time.Second}, deaf: true}
			dropped := make(chan any, 4)
			request := sluice.Request{Discard: func(v any) { dropped <- v }}
			value, err := sluice.DoWith(t.Context(), p, request, fn.do)
			require.NoError(t, err)
			assert.EqualValues(t, 2, value)
			assert.Equal(t, "held 1/5", state(t, p, "bulkhead").Text)
			time.Sleep(8*time.Second - 1)
			assert.Equal(t, "held 1/5", state(t, p, "bulkhead").Text)
			assert.Empty(t, dropped)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			assert.Equal(t, "held 0/5", state(t, p, "bulkhead").Text)
			require.Len(t, dropped, 1)
			assert.EqualValues(t, 1, <-dropped)
		})
	}
}

func TestHedgesGiveUpWithTheCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {calls: 5}}", "hedge: {after: 1s}", "bulkhead: 2"})
		j := listen(p)
		cause := errors.New("the user has left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(cause) })
		fn := &attempts{takes: []time.Duration{time.Hour, time.Hour}}
		_, err := sluice.Do(ctx, p, fn.do)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, cause)
		assert.Equal(t, []string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "2s end 2 cancel"}, j.all())
		synctest.Wait()
		assert.Equal(t, cause, fn.cause(1))
		assert.Equal(t, "held 0/2", state(t, p, "bulkhead").Text)
		assert.Equal(t, "closed failed 0/0", state(t, p, "breaker").Text, "no vote")
	})
}

// TestHedgePercentile has the delay follow the attempts that ended ok.
// TestHedgedCallAtItsDeadline blames the dependency, unless the caller says that the
// deadline is its own affair.
func TestHedgedCallAtItsDeadline(t *testing.T) {
	for _, own := range []bool{false, true} {
		for _, deaf := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				p := guarded(t, []string{"breaker: {window: {consecutive: 1}, open: 1h}", "hedge: {after: 1s}", "bulkhead: 2"})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				a := &attempts{takes: []time.Duration{time.Minute, time.Minute}, deaf: deaf}
				start := time.Now()
				_, err := sluice.DoWith(ctx, p, sluice.Request{Stalled: func() bool { return own }}, a.do)
				assert.Equal(t, 3*time.Second, time.Since(start))
				var timeout *sluice.TimeoutError
				require.ErrorAs(t, err, &timeout)
				assert.Equal(t, "deadline", timeout.Step)
				assert.Equal(t, map[bool]string{false: "open", true: "closed"}[own], state(t, p, "breaker").Mode)
				time.Sleep(time.Minute)
				for number := range uint32(2) {
					assert.ErrorIs(t, a.cause(number+1), context.DeadlineExceeded)
				}
				assert.EqualValues(t, 2, state(t, p, "bulkhead").Free)
			})
		}
	}
}

func TestHedgePercentile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"hedge: {after: p50, samples: 4, minimum: 2}"})
		for _, d := range []time.Duration{1, 2} {
			_, err := sluice.Do(t.Context(), p, (&attempts{takes: []time.Duration{d * time.Second}}).do)
			require.NoError(t, err)
		}
		j := listen(p)
		_, err := sluice.Do(t.Context(), p, (&attempts{takes: []time.Duration{5 * time.Second, 9 * time.Second}}).do)
		require.NoError(t, err)
		assert.Equal(t, []string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "5s cancel 2", "5s end 2 ok won 1"}, j.all())
	})
}

// logBuffer is a log that any goroutine writes.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// take returns what was written since the last call.
func (b *logBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.text.Reset()
	return b.text.String()
}

// TestPanicsOfHedges has an attempt panic, or end its goroutine, while the call waits
// for it: the panic or exit continues on the caller's goroutine, and nothing stays held.
func TestPanicsOfHedges(t *testing.T) {
	for name, crash := range map[string]func(){"boom": func() { panic("boom") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var logged logBuffer
				p := guarded(t, []string{"breaker: {window: {calls: 5}}", "retry: 3", "hedge: {after: 1s}", "bulkhead: 2"},
					sluice.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
				j := listen(p)
				fn := &attempts{takes: []time.Duration{time.Hour}}
				var value any
				returned := false
				var caller sync.WaitGroup
				caller.Go(func() {
					value = recovered(func() {
						_, _ = sluice.Do(t.Context(), p, func(ctx context.Context) (uint32, error) {
							if _, hedge, _ := sluice.AttemptOf(ctx); hedge {
								time.Sleep(time.Second)
								crash()
							}
							return fn.do(ctx)
						})
						returned = true
					})
				})
				caller.Wait()
				assert.False(t, returned)
				assert.Equal(t, []string{"0s admit 1", "1s hedge 2 hedge", "1s admit 2", "2s cancel 1", "2s end 2 fail"}, j.all())
				synctest.Wait()
				require.ErrorIs(t, fn.cause(1), sluice.ErrHedgeLost)
				assert.Equal(t, "held 0/2", state(t, p, "bulkhead").Text)
				assert.Equal(t, "closed failed 1/1", state(t, p, "breaker").Text)
				if name == "boom" {
					assert.Equal(t, "boom", value)
					assert.Contains(t, logged.take(), "hedge_test.go", "the stack of the goroutine that has ended")
				}
			})
		})
	}
}

// TestPanicOfALoser has an attempt panic after the call has returned: the panic is
// logged and does not end the process.
func TestPanicOfALoser(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var logged logBuffer
		p := guarded(t, []string{"hedge: {after: 1s}", "bulkhead: 2"}, sluice.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
		for i, crash := range []func(){func() { panic("boom") }, runtime.Goexit} {
			_, err := sluice.Do(t.Context(), p, func(ctx context.Context) (int, error) {
				if _, hedge, _ := sluice.AttemptOf(ctx); !hedge {
					time.Sleep(time.Minute)
					crash()
				}
				return 1, nil
			})
			require.NoError(t, err)
			assert.Equal(t, "held 1/2", state(t, p, "bulkhead").Text)
			assert.Empty(t, logged.take())
			time.Sleep(time.Hour)
			synctest.Wait()
			assert.Equal(t, "held 0/2", state(t, p, "bulkhead").Text)
			text := logged.take()
			assert.Equal(t, i == 0, strings.Contains(text, "boom") && strings.Contains(text, "hedge_test.go"), text)
		}
	})
}

func TestNoHedge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"hedge: {after: 1s}", "bulkhead: {concurrent: 2, lease: 1h}"})
		j := listen(p)
		single := func(ctx context.Context) (int, error) {
			_, _, hedged := sluice.AttemptOf(ctx)
			assert.False(t, hedged)
			time.Sleep(3 * time.Second)
			return 1, nil
		}
		_, err := sluice.DoWith(t.Context(), p, sluice.Request{NoHedge: "not idempotent"}, single)
		require.NoError(t, err)
		assert.Equal(t, []string{"0s admit 1 not idempotent", "3s end 1 ok won 1"}, j.take())

		c := begin(t, p)
		time.Sleep(3 * time.Second)
		c.Release()
		assert.Equal(t, []string{"3s admit 1", "6s end 1 cancel"}, j.take(), "two phases have one attempt")
		assert.Equal(t, "held 0/2", state(t, p, "bulkhead").Text)
	})
}

// TestHedgeInShadow checks that a hedge in shadow starts no attempt and no goroutine.
func TestHedgeInShadow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"hedge: {after: 1s, shadow: true}"})
		j := listen(p)
		require.NoError(t, do(p, stubborn(3*time.Second)))
		assert.Equal(t, []string{"0s admit 1", "1s hedge 2 hedge shadow", "3s end 1 ok won 1"}, j.all())
	})
}

// TestHedgesHold has the winner and a failed attempt call Hold: the places of the winner are
// held until they are released, the places of the other attempt are not.
func TestHedgesHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {name: outer, concurrent: 5}", "hedge: {after: 1s}", "bulkhead: {name: inner, concurrent: 5}"})
		for fails := range 3 {
			var held sync.Map
			fn := &attempts{takes: []time.Duration{2 * time.Second, 2 * time.Second}, fails: map[uint32]bool{1: fails > 0, 2: fails > 1}}
			request := sluice.Request{Holdable: true}
			number, err := sluice.DoWith(t.Context(), p, request, func(ctx context.Context) (uint32, error) {
				n, _, _ := sluice.AttemptOf(ctx)
				held.Store(n, sluice.Hold(ctx))
				return fn.do(ctx)
			})
			assert.Equal(t, fails > 1, err != nil)
			assert.EqualValues(t, min(2, fails+1), number)
			synctest.Wait()
			assert.Equal(t, "held 1/5", state(t, p, "outer").Text)
			assert.Equal(t, "held 1/5", state(t, p, "inner").Text)
			release, _ := held.Load(number)
			release.(func())()
			assert.Equal(t, "held 0/5", state(t, p, "outer").Text)
			assert.Equal(t, "held 0/5", state(t, p, "inner").Text)
		}
	})
}

func TestRenew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, q := range []sluice.Request{{}, {Holdable: true}} {
			for _, hedge := range []string{"retry: 2", "hedge: {after: 1h}"} {
				p := guarded(t, []string{hedge, "bulkhead: {concurrent: 1, lease: 2s}", "timeout: 1m"})
				var ctx context.Context
				_, err := sluice.DoWith(t.Context(), p, q, func(own context.Context) (int, error) {
					ctx = own
					for range 3 {
						time.Sleep(time.Second)
						assert.True(t, sluice.Renew(ctx))
					}
					child, cancel := context.WithCancel(ctx)
					defer cancel()
					assert.True(t, sluice.Renew(child))
					assert.ErrorIs(t, do(p, ok), sluice.ErrRejected)
					time.Sleep(2 * time.Second)
					assert.False(t, sluice.Renew(ctx), "it has lapsed")
					return 1, nil
				})
				require.NoError(t, err)
				assert.False(t, sluice.Renew(ctx), "the attempt is over")
			}
		}
		assert.False(t, sluice.Renew(t.Context()))
	})
}

// TestHedgedCallsInParallel is for the race detector, and finds goroutines that do not
// end: the bubble waits for them.
func TestHedgedCallsInParallel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"timeout: 10s", "retry: {attempts: 2, backoff: {constant: 10ms}, jitter: none}", "hedge: {after: 20ms, max: 3}", "limit: {rate: 10000/1s, wait: 1s}",
			"bulkhead: {concurrent: 50, wait: 1s}", "timeout: 100ms",
		})
		var ran, returned atomic.Int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				_, _ = sluice.Do(t.Context(), p, func(ctx context.Context) (int, error) {
					n, _, _ := sluice.AttemptOf(ctx)
					defer returned.Add(1)
					ran.Add(1)
					d := time.Duration((i*7+int(n)*13)%90) * time.Millisecond
					if i%5 == 0 {
						time.Sleep(d)
					} else if _, err := takes(d)(ctx); err != nil {
						return 0, err
					}
					if (i+int(n))%3 == 0 {
						return 0, errBoom
					}
					return 1, nil
				})
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		assert.Equal(t, ran.Load(), returned.Load())
		assert.Greater(t, ran.Load(), int64(200))
		assert.Equal(t, "held 0/50", state(t, p, "bulkhead").Text)
		assert.Zero(t, state(t, p, "bulkhead").Waiting)
	})
}
