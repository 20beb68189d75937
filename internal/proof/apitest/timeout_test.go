package apitest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/reducer"
)

func TestTimeouts(t *testing.T) {
	const again = "retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}"
	cases := []struct {
		name  string
		steps []string
		fn    func(context.Context) (int, error)
		step  string
		lines []string
	}{{
		"above the retry", []string{"timeout: 5s", again}, takes(time.Minute), "timeout",
		[]string{"0s admit 1", "5s timeout 1 timeout", "5s end 1 timeout"},
	}, {
		"below the retry", []string{again, "timeout: 5s"}, takes(time.Minute), "timeout",
		[]string{"0s admit 1", "5s timeout 1 timeout", "5s retry 1 timeout until 6s", "6s admit 2", "11s timeout 2 timeout", "11s end 2 timeout attempts"},
	}, {
		"both", []string{"timeout: {name: whole, after: 8s}", again, "timeout: {name: each, after: 5s}"}, takes(time.Minute), "whole",
		[]string{"0s admit 1", "5s timeout 1 each", "5s retry 1 timeout until 6s", "6s admit 2", "8s timeout 2 whole", "8s end 2 timeout"},
	}, {
		"at one mark the outermost", []string{"timeout: {name: whole, after: 5s}", again, "timeout: {name: each, after: 5s}"}, takes(time.Minute), "whole",
		[]string{"0s admit 1", "5s timeout 1 whole", "5s end 1 timeout"},
	}, {
		"late failure: the cut and the backoff count from the mark", []string{again, "timeout: 5s"}, stubborn2(5500 * time.Millisecond), "timeout",
		[]string{"0s admit 1", "5s timeout 1 timeout", "5s retry 1 timeout until 6s", "6s admit 2", "11s timeout 2 timeout", "11s end 2 timeout attempts"},
	}, {
		"very late failure", []string{again, "timeout: 5s"}, stubborn2(9 * time.Second), "timeout",
		[]string{"0s admit 1", "5s timeout 1 timeout", "5s retry 1 timeout until 6s", "9s admit 2", "14s timeout 2 timeout", "14s end 2 timeout attempts"},
	}}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, c.steps)
				j := listen(p)
				err := do(p, c.fn)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				var cut *sluice.TimeoutError
				require.ErrorAs(t, err, &cut)
				assert.Equal(t, c.step, cut.Step)
				assert.Equal(t, c.lines, j.all())
			})
		})
	}
}

func TestLateSuccessIsReturned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, steps := range [][]string{
			{"breaker: {window: {calls: 5}, name: outer}", "timeout: 1s", "breaker: {window: {calls: 5}, name: inner}"},
			{"breaker: {window: {calls: 5}, name: outer}", "retry: 3", "timeout: 1s", "breaker: {window: {calls: 5}, name: inner}"},
		} {
			p := guarded(t, steps)
			j := listen(p)
			value, err := sluice.Do(t.Context(), p, stubborn(3*time.Second))
			require.NoError(t, err)
			assert.Equal(t, 1, value)
			assert.Equal(t, []string{"0s admit 1", "1s timeout 1 timeout", "3s end 1 ok"}, j.all())
			assert.Equal(t, "closed failed 1/1", state(t, p, "inner").Text, "the cut votes")
		}
	})
}

func TestLateSuccessIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: 1s"}, sluice.WithRefuseLate())
		value, err := sluice.Do(t.Context(), p, stubborn(3*time.Second))
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		require.NoError(t, cut.Err)
		assert.Zero(t, value, "the value is discarded")

		p = guarded(t, []string{"retry: {attempts: 2, backoff: none}", "timeout: 1s"}, sluice.WithRefuseLate())
		value, err = sluice.Do(t.Context(), p, stubborn(3*time.Second))
		require.ErrorAs(t, err, &cut)
		assert.Zero(t, value)
	})
}

func TestPlaceIsHeldUntilTheFunctionReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 1m}", "timeout: 1s"})
		j := listen(p)
		go func() { _ = do(p, stubborn(5*time.Second)) }()
		synctest.Wait()
		require.NoError(t, do(p, ok))
		synctest.Wait()
		lines := j.all()
		require.Len(t, lines, 6)
		assert.Equal(t, []string{"0s admit 1", "0s wait 1 bulkhead", "1s timeout 1 timeout"}, lines[:3])
		// Two goroutines call the listener at one mark, in either order.
		assert.ElementsMatch(t, []string{"5s end 1 ok", "5s admit 1", "5s end 1 ok"}, lines[3:])
	})
}

// TestWaitsEndOnTimeAfterALateCut has a wait whose timer is set by a step at a
// mark that lies far behind.
func TestWaitsEndOnTimeAfterALateCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"bulkhead: {concurrent: 1, wait: 20s}", "timeout: 1s"})
		go func() { _ = do(p, stubborn(15*time.Second)) }()
		synctest.Wait()
		began := time.Now()
		go func() { _ = do(p, stubborn(time.Hour)) }()
		time.Sleep(time.Second)
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		assert.Equal(t, 21*time.Second, time.Since(began))
		time.Sleep(2 * time.Hour)
	})
}

func TestDurationOfALateCutIsThatOfTheCut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {calls: 5}, minimum: 1, slow: {over: 2s, rate: 10%}, failure_rate: 100%}", "timeout: 1s"})
		go func() { _ = do(p, stubborn2(10*time.Second)) }()
		time.Sleep(9 * time.Second)
		require.NoError(t, do(p, ok))
		time.Sleep(2 * time.Second)
		assert.Equal(t, "closed failed 1/2", state(t, p, "breaker").Text)
	})
}

func TestCallersDeadlineIsATimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cases := []struct {
			steps []string
			fn    func(context.Context) (int, error)
			lines []string
		}{
			{[]string{"limit: 10/1s"}, takes(time.Minute), []string{"0s admit 1", "2s timeout 1 deadline", "2s end 1 timeout"}},
			{[]string{"timeout: 1m", "bulkhead: {concurrent: 1, wait: 10m}"}, takes(time.Minute),
				[]string{"0s wait 1 bulkhead", "2s timeout 1 deadline", "2s end timeout"}},
			{[]string{"retry: {attempts: 9, backoff: {constant: 900ms}, jitter: none}"}, fails, []string{"0s admit 1",
				"0s retry 1 fail until 900ms", "900ms admit 2", "900ms retry 2 fail until 1.8s", "1.8s admit 3", "1.8s end 3 fail deadline"}},
		}
		for i, c := range cases {
			p := guarded(t, c.steps)
			if i == 1 {
				go func() { _ = do(p, takes(30*time.Second)) }()
				synctest.Wait()
			}
			j := listen(p)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, err := sluice.Do(ctx, p, c.fn)
			cancel()
			require.Error(t, err)
			var cut *sluice.TimeoutError
			if i < 2 {
				require.ErrorAs(t, err, &cut)
				assert.Equal(t, "deadline", cut.Step)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			assert.Equal(t, c.lines, j.all())
		}
		time.Sleep(time.Minute)
	})
}

func TestSoftLimitIsToldOfOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"timeout: {name: whole, after: 1m, soft: 3s}", "retry: {attempts: 3, backoff: none}", "timeout: {name: each, after: 10s, soft: 1s}",
		})
		j := listen(p)
		require.Error(t, do(p, stubborn2(2*time.Second)))
		var soft []string
		for _, text := range j.all() {
			if len(text) > 4 && text[len(text)-4:] == "soft" {
				soft = append(soft, text)
			}
		}
		assert.Equal(t, []string{"1s timeout 1 each soft", "3s timeout 2 whole soft", "3s timeout 2 each soft", "5s timeout 3 each soft"}, soft)
	})
}

// TestSoftLimitOfHedgedAttempts has a soft limit between the retry and the hedge: it belongs to
// an attempt that runs or waits, never to one that is over.
func TestSoftLimitOfHedgedAttempts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{
			"retry: {attempts: 3, backoff: {constant: 2s}, jitter: none}", "timeout: {after: 10s, soft: 2s}", "limit: {rate: 1/5s, wait: 10s}", "hedge: {after: 1h, shadow: true}",
		})
		j := listen(p)
		require.Error(t, do(p, func(ctx context.Context) (int, error) {
			_, _ = elapse(ctx, time.Second)
			return 0, errBoom
		}))
		assert.Equal(t, []string{
			"0s admit 1", "1s retry 1 fail until 3s",
			"3s wait 2 limit", "5s timeout 2 timeout soft", "5s admit 2", "6s retry 2 fail until 8s",
			"8s wait 3 limit", "10s timeout 3 timeout soft", "10s admit 3", "11s end 3 fail attempts",
		}, j.all())
	})
}

// TestSoftLimitIsToldAtItsMark has a listener get the event of a soft limit while the
// function still runs, and while the call waits.
func TestSoftLimitIsToldAtItsMark(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"timeout: {name: whole, after: 1m, soft: 3s}", "bulkhead: {concurrent: 1, wait: 1m}", "timeout: {name: each, after: 30s, soft: 2s}"})
		began := time.Now()
		told := make(chan string, 9)
		p.Listen(func(e sluice.Event) {
			if e.Soft {
				told <- fmt.Sprint(time.Since(began), " ", e.Step)
			}
		})
		go func() { _ = do(p, stubborn(10*time.Second)) }()
		synctest.Wait()
		require.NoError(t, do(p, ok))
		close(told)
		var all []string
		for text := range told {
			all = append(all, text)
		}
		assert.Equal(t, []string{"2s each", "3s whole", "3s whole"}, all)
	})
}

// TestLateErrorThatIsNone has an error that is classified as a success.
func TestLateErrorThatIsNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		all := func(error) reducer.Outcome { return reducer.OK }
		for i, d := range []time.Duration{0, 2 * time.Second, 2 * time.Second} {
			p := guarded(t, [][]string{{"timeout: 1s"}, {"timeout: 1s"}, {"retry: 2", "timeout: 1s"}}[i], sluice.WithClassify(all))
			value, err := sluice.Do(t.Context(), p, func(context.Context) (int, error) {
				time.Sleep(d)
				return 7, errBoom
			})
			assert.Equal(t, 7, value)
			assert.Equal(t, errBoom, err)
		}
	})
}

// TestStalledAttemptIsCancelled has timeouts cut attempts that wait for their caller.
func TestStalledAttemptIsCancelled(t *testing.T) {
	const again = "retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}"
	for name, c := range map[string]struct {
		steps   []string
		stalled bool
		lines   []string
	}{
		"stalled":              {[]string{again, "timeout: 5s"}, true, []string{"0s admit 1", "5s end 1 cancel"}},
		"stalled, whole call":  {[]string{"timeout: 5s", again}, true, []string{"0s admit 1", "5s end 1 cancel"}},
		"stalled, in shadow":   {[]string{"timeout: {after: 4s, shadow: true}", again, "timeout: {name: own, after: 5s}"}, true, []string{"0s admit 1", "4s timeout 1 timeout shadow", "5s end 1 cancel"}},
		"waits for the vendor": {[]string{again, "timeout: 5s"}, false, []string{"0s admit 1", "5s timeout 1 timeout", "5s retry 1 timeout until 6s", "7s admit 2", "12s timeout 2 timeout", "12s breaker open", "12s end 2 timeout attempts"}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := guarded(t, append([]string{"breaker: {window: {consecutive: 1}}"}, c.steps...))
				j := listen(p)
				q := sluice.Request{Stalled: func() bool { return c.stalled }}
				_, err := sluice.DoWith(t.Context(), p, q, stubborn2(7*time.Second))
				require.Error(t, err)
				assert.Equal(t, c.lines, j.all())
				assert.Equal(t, map[bool]string{true: "closed", false: "open"}[c.stalled], state(t, p, "breaker").Mode)
			})
		})
	}
}

// TestStalledCallIsCancelled is the same for a call without a function.
func TestStalledCallIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"breaker: {window: {consecutive: 1}}", "bulkhead: 1", "timeout: 5s"})
		j := listen(p)
		c, err := p.Begin(t.Context(), sluice.Request{Stalled: func() bool { return true }})
		require.NoError(t, err)
		<-c.Context().Done()
		time.Sleep(time.Second)
		c.Done(reducer.Fail)
		c.Release()
		assert.Equal(t, []string{"0s admit 1", "5s end 1 cancel"}, j.all())
		assert.Equal(t, "closed", state(t, p, "breaker").Mode)
		assert.EqualValues(t, 1, state(t, p, "bulkhead").Free)
	})
}
