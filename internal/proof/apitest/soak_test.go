package apitest_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/reducer"
)

// soaked are policies that alternate while calls run.
var soaked = [][]string{
	{
		"bulkhead: {name: whole, concurrent: 40, queue: 20, wait: 2s}", "timeout: 30s",
		"retry: {attempts: 3, backoff: {exponential: 10ms, max: 1s}, jitter: full, budget: 50%}",
		"breaker: {window: {calls: 50}, minimum: 40, failure_rate: 90%, open: 100ms, per: key}",
		"limit: {rate: 2000/1s, burst: 50, wait: 500ms, queue: 20}",
		"bulkhead: {name: places, concurrent: 20, queue: 10, wait: 100ms, lease: 3s, per: [key]}",
		"limit: {name: watch, rate: 10/1s, wait: 1s, shadow: true}", "timeout: 500ms",
	},
	{
		"limit: {rate: 1000/1s, burst: 20, wait: 100ms, order: newest}", "timeout: 20s",
		"retry: {attempts: 2, backoff: none}",
		"bulkhead: {name: whole, concurrent: 30, queue: 5, order: newest}",
		"bulkhead: {name: places, concurrent: 2, queue: 100, wait: 1s, per: [key]}",
		"breaker: {window: {time: 1s, buckets: 10}, minimum: 20, slow: {over: 50ms, rate: 95%}, open: 50ms, probes: 3}",
	},
}

// soak counts what becomes of calls.
type soak struct {
	p                           *sluice.Pipeline
	submitted                   atomic.Int64
	ended, rejected, expired    atomic.Int64
	admitted, panicked, exited  atomic.Int64
	succeeded, failed, canceled atomic.Int64
}

func (s *soak) note(e sluice.Event) {
	switch {
	case e.Kind == decision.Change || e.Shadow:
	case e.Kind == decision.Admit:
		s.admitted.Add(1)
	case e.Kind == decision.End:
		s.ended.Add(1)
	case e.Kind == decision.Reject:
		s.rejected.Add(1)
	case e.Kind == decision.Expire:
		s.expired.Add(1)
	}
}

// soakFor runs a soak once, or with one seed after another for a third of
// SLUICE_SOAK, because there are three soaks.
func soakFor(t *testing.T, round func(t *testing.T, seed uint64)) {
	t.Helper()
	began, first := time.Now(), testenv.Seed()
	for seed := first; ; seed++ {
		round(t, seed)
		if t.Failed() {
			t.Fatalf("SLUICE_SEED=%d", seed)
		}
		if time.Since(began) >= testenv.Soak()/3 {
			t.Logf("%d rounds from SLUICE_SEED=%d", seed-first+1, first)
			return
		}
	}
}

// TestSoak has calls of every kind go through a pipeline in virtual time, in which
// calls of the same millisecond run concurrently, while the policy changes and
// snapshots replace its state.
func TestSoak(t *testing.T) {
	soakFor(t, func(t *testing.T, seed uint64) {
		bubble(t, func(t *testing.T) { soakPipeline(t, seed) })
	})
}

func soakPipeline(t *testing.T, seed uint64) {
	const calls = 20_000
	set, _ := loaded(t, soaked[0]...)
	p := guarded(t, soaked[0], sluice.WithMaxKeys(12))
	s := &soak{p: p}
	p.Listen(s.note)
	var all sync.WaitGroup
	rng := rand.New(rand.NewPCG(9, seed))
	for i := range calls {
		call := rand.New(rand.NewPCG(1+seed, uint64(i)))
		all.Go(func() { s.call(call) })
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(8)) * time.Millisecond)
		}
		switch rng.IntN(500) {
		case 0:
			reload(t, set, soaked[rng.IntN(2)]...)
			require.NoError(t, p.Configure(set.Document().Policies[0].Policy))
			p.State()
			p.Snapshot()
		case 1:
			require.NoError(t, p.Restore(p.Snapshot()))
		}
	}
	all.Wait()
	time.Sleep(time.Second) // until all holds are released
	synctest.Wait()
	for _, step := range p.State() {
		assert.Zero(t, step.InUse, step.Step)
	}
	assert.Zero(t, state(t, p, "places").Used)
	time.Sleep(time.Hour)
	for _, policy := range soaked {
		reload(t, set, policy...)
		require.NoError(t, p.Configure(set.Document().Policies[0].Policy))
		rested(t, p)
	}
	assert.EqualValues(t, calls, s.submitted.Load())
	assert.Equal(t, s.submitted.Load(), s.ended.Load()+s.rejected.Load()+s.expired.Load(), "the ledger balances")
	for _, n := range []*atomic.Int64{&s.ended, &s.rejected, &s.expired, &s.panicked, &s.exited, &s.succeeded, &s.failed, &s.canceled} {
		assert.Greater(t, n.Load(), int64(50), "everything happens")
	}
	t.Logf("%d calls, %d attempts: %d ended, %d rejected, %d expired; %d succeeded, %d failed, %d cancelled, %d panics, %d Goexits",
		calls, s.admitted.Load(), s.ended.Load(), s.rejected.Load(), s.expired.Load(),
		s.succeeded.Load(), s.failed.Load(), s.canceled.Load(), s.panicked.Load(), s.exited.Load())
}

// rested checks that no call waits at a pipeline or holds anything of it, and that
// the cells of keys are as new ones. Breakers remember outcomes.
func rested(t *testing.T, p *sluice.Pipeline) {
	t.Helper()
	for _, step := range p.State() {
		assert.Zero(t, step.Waiting, step.Step)
		assert.Zero(t, step.InUse, step.Step)
		if step.Kind != mechanism.Breaker {
			assert.Zero(t, step.Used, step.Step)
		}
	}
	assert.Contains(t, state(t, p, "whole").Text, "held 0/")
}

// call makes one call of any kind.
func (s *soak) call(rng *rand.Rand) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch rng.IntN(6) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(1+rng.IntN(1_000))*time.Millisecond)
	case 1:
		ctx, cancel = context.WithCancel(ctx)
		time.AfterFunc(time.Duration(1+rng.IntN(300))*time.Millisecond, cancel)
	}
	defer cancel()
	q := sluice.Request{Key: strconv.Itoa(rng.IntN(20)), Cost: rng.Uint32N(3), Holdable: rng.IntN(4) == 0}
	s.submitted.Add(1)
	defer func() {
		if recover() != nil {
			s.panicked.Add(1)
		}
	}()
	if rng.IntN(10) == 0 {
		s.twoPhases(ctx, q, rng)
		return
	}
	_, err := sluice.DoWith(ctx, s.p, q, func(ctx context.Context) (int, error) { return s.attempt(ctx, rng) })
	switch {
	case err == nil:
		s.succeeded.Add(1)
	case ctx.Err() != nil:
		s.canceled.Add(1)
	default:
		s.failed.Add(1)
	}
}

func (s *soak) twoPhases(ctx context.Context, q sluice.Request, rng *rand.Rand) {
	c, err := s.p.Begin(ctx, q)
	if err != nil {
		return
	}
	defer c.Release()
	time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond)
	if rng.IntN(3) > 0 {
		c.Done(reducer.OK)
	}
}

func (s *soak) attempt(ctx context.Context, rng *rand.Rand) (int, error) {
	if rng.IntN(3) == 0 {
		release := sluice.Hold(ctx)
		time.AfterFunc(time.Duration(rng.IntN(100))*time.Millisecond, release)
	}
	takes := time.Duration(rng.IntN(40)) * time.Millisecond
	switch n := rng.IntN(100); {
	case n < 3:
		panic("boom")
	case n < 6:
		s.exited.Add(1)
		runtime.Goexit()
	case n < 20:
		return 0, errBoom
	case n < 25:
		return 0, sluice.Throttle(errBoom, takes)
	case n < 28:
		return 0, sluice.Ignore(errBoom)
	case n < 30:
		time.Sleep(time.Second) // ignores its context
		return 1, nil
	}
	return elapse(ctx, takes)
}
