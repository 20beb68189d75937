package apitest_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

func TestListenersMayCallBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tripping := []string{"breaker: {window: {consecutive: 1}, open: 1m}", "bulkhead: {concurrent: 2, lease: 1s}", "limit: {rate: 100/1s, wait: 1s}"}
		set, err := sluice.Parse("test.yaml", document(tripping...))
		require.NoError(t, err)
		p := set.Pipeline("p")
		depth, seen := 0, map[decision.Kind]int{}
		stop := p.Listen(func(e sluice.Event) {
			seen[e.Kind]++
			if depth++; depth < 4 {
				_ = do(p, ok)
				_ = do(p, fails)
				p.State()
				require.NoError(t, p.Configure(pipeline.Policy{Name: "p", Steps: stepsOf(p)}))
				require.NoError(t, set.Reload("test.yaml", document(tripping...)))
				require.NoError(t, p.Restore(p.Snapshot()))
				p.Listen(func(sluice.Event) {})()
			}
			depth--
		})
		_ = do(p, ok)
		_ = do(p, fails)
		time.Sleep(time.Minute)
		_ = do(p, ok)
		assert.NotZero(t, seen[decision.Change])
		stop()
		before := len(seen)
		_ = do(p, ok)
		assert.Len(t, seen, before)
	})
}

func stepsOf(p *sluice.Pipeline) (steps []pipeline.Step) {
	for i := range p.Plan().Len() {
		steps = append(steps, p.Plan().Step(i))
	}
	return steps
}

// TestReloadFromAnEventOfAReload has a Configure change a breaker, whose listener calls
// Configure again.
func TestReloadFromAnEventOfAReload(t *testing.T) {
	bubble(t, func(t *testing.T) {
		steps := func(probes string) []byte {
			return document("breaker: {window: {calls: 4}, minimum: 1, failure_rate: 60%, open: 1s, probes: " + probes + "}")
		}
		set, err := sluice.Parse("test.yaml", steps("4"))
		require.NoError(t, err)
		p := set.Pipeline("p")
		require.Error(t, do(p, fails))
		time.Sleep(time.Second)
		require.NoError(t, do(p, ok)) // one of four probes
		var changes []string
		p.Listen(func(e sluice.Event) {
			if e.Kind == decision.Change && e.Mode == breaker.Closed {
				require.NoError(t, set.Reload("test.yaml", steps("2")))
			}
			changes = append(changes, e.Mode.String())
		}, sluice.EventChange)
		require.NoError(t, set.Reload("test.yaml", steps("1")))
		assert.Equal(t, []string{"closed"}, changes, "one probe is enough now")
	})
}

func TestStopTouchesNoOtherListener(t *testing.T) {
	p := guarded(t, []string{"limit: 100/1s"})
	var counts [3]int
	var stops [3]func()
	for i := range stops {
		stops[i] = p.Listen(func(sluice.Event) { counts[i]++ })
	}
	var inside func()
	inside = p.Listen(func(sluice.Event) { inside() })
	require.NoError(t, do(p, ok))
	stops[1]()
	stops[1]()
	require.NoError(t, do(p, ok))
	assert.Equal(t, [3]int{4, 2, 4}, counts)
	stops[0]()
	stops[2]()
	require.NoError(t, do(p, ok))
	assert.Equal(t, [3]int{4, 2, 4}, counts)
}

func TestMetricsAreAFoldOfEvents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := guarded(t, []string{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "breaker: {window: {consecutive: 2}, open: 1m}", "limit: {name: watch, rate: 1/1h, shadow: true}"})
		var m sluice.Metrics
		assert.Zero(t, m.Snapshot().Calls)
		p.Listen(m.Observe)
		require.Error(t, do(p, fails))
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		s := m.Snapshot()
		assert.EqualValues(t, 2, s.Calls)
		assert.Equal(t, time.Second, s.Elapsed)
		kinds := map[decision.Kind]uint64{}
		for k, n := range s.Decisions {
			if !k.Shadow {
				kinds[k.Kind] += n
			}
		}
		assert.Equal(t, map[decision.Kind]uint64{decision.Admit: 2, decision.Retry: 1, decision.End: 1, decision.Reject: 1}, kinds)
		assert.Equal(t, map[[3]string]uint64{{"p", "breaker", "open"}: 1}, s.Changes)
		clear(s.Decisions)
		assert.NotEmpty(t, m.Snapshot().Decisions, "a snapshot is a copy")
	})
}

// TestObserversGetWhatListenersGet has calls that end in many ways, of policies with a fast
// path and without: what an observer counts is what a listener counts.
func TestObserversGetWhatListenersGet(t *testing.T) {
	for _, steps := range [][]string{
		{"timeout: 30s"},
		{"retry: {attempts: 2, backoff: {constant: 1s}, jitter: none}", "breaker: {window: {consecutive: 3}, open: 1s}", "bulkhead: {concurrent: 1, queue: 1, wait: 1s}"},
		{"timeout: {after: 3s, soft: 1s}", "hedge: {after: 1s}", "limit: {name: watch, rate: 1/1h, shadow: true}"},
		{"limit: {rate: 3/1m, per: key}", "bulkhead: 1"},
	} {
		bubble(t, func(t *testing.T) {
			set, err := sluice.Parse("test.yaml", document("limit: 1/1h"))
			require.NoError(t, err)
			var heard, observed sluice.Metrics
			var group sluice.ListenerGroup
			group.Add(set.Listen(heard.Observe))
			group.Add(set.Observe(&observed))
			require.NoError(t, set.Reload("test.yaml", document(steps...)))
			p := set.Pipeline("p")
			var all sync.WaitGroup
			call := func(key string, takes time.Duration, err error) {
				all.Go(func() {
					_, _ = sluice.DoWith(t.Context(), p, sluice.Request{Key: key}, func(context.Context) (int, error) {
						time.Sleep(takes)
						return 1, err
					})
				})
			}
			for i := range 6 {
				call("a", time.Duration(i), nil)
				call("b", 2*time.Second, nil)
				call("c", time.Minute, nil)
				time.Sleep(4 * time.Second)
				call("d", time.Duration(i), errBoom)
				all.Wait()
			}
			s := observed.Snapshot()
			assert.Equal(t, heard.Snapshot(), s)
			assert.NotZero(t, s.Decisions[sluice.MetricsKey{Policy: "p", Kind: sluice.EventEnd, Outcome: reducer.OK}])
			assert.Greater(t, len(s.Decisions), 2)
			group.Stop()
			call("a", 0, nil)
			all.Wait()
			assert.Equal(t, s, observed.Snapshot())
			time.Sleep(time.Hour) // for attempts that lost
		})
	}
	missing := (&sluice.Set{}).Pipeline("p")
	missing.Observe(new(sluice.Metrics))()
}

// leveled is a handler whose level changes.
type leveled struct {
	slog.Handler
	level *slog.Level
}

func (h leveled) Enabled(_ context.Context, l slog.Level) bool { return l >= *h.level }

func TestLogger(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		level := slog.LevelDebug
		handler := leveled{logger.Handler(), &level}
		p := guarded(t, []string{"breaker: {window: {consecutive: 1}, open: 1m}"}, sluice.WithLogger(slog.New(handler)))
		require.NoError(t, do(p, ok))
		level = slog.LevelInfo
		require.NoError(t, do(p, ok), "an end that the logger drops")
		level = slog.LevelDebug
		require.Error(t, do(p, fails))
		require.ErrorIs(t, do(p, ok), sluice.ErrRejected)
		l, err := sluice.NewLimiter(rate(1, time.Second), sluice.WithLogger(logger))
		require.NoError(t, err)
		assert.True(t, l.Allow())
		assert.False(t, l.Allow())
		assert.Equal(t, []string{
			"level=DEBUG msg=sluice event.policy=p event.decision=added",
			"level=DEBUG msg=sluice event.policy=p event.decision=end event.outcome=ok event.attempt=1",
			"level=WARN msg=sluice event.policy=p event.decision=change event.step=breaker event.state=open event.failed=1 event.reason=open",
			"level=DEBUG msg=sluice event.policy=p event.decision=end event.outcome=fail event.attempt=1 event.error=boom",
			"level=DEBUG msg=sluice event.policy=p event.decision=reject event.step=breaker event.reason=open event.retry_after=1m0s",
			"level=DEBUG msg=sluice event.decision=reject event.step=limit event.reason=rate event.retry_after=1s",
		}, strings.Split(strings.TrimSpace(out.String()), "\n"))
	})
}
