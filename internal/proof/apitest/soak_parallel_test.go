package apitest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/reducer"
)

// crowded are policies under which no call waits for time to pass. The second
// one has a fast path.
var crowded = [][]string{
	{
		"bulkhead: {name: whole, concurrent: 6, queue: 12}", "retry: {attempts: 3, backoff: none, budget: 50%}",
		"breaker: {window: {calls: 20}, minimum: 10, failure_rate: 60%, open: 5ms, per: key}",
		"limit: {rate: 4000/1s, burst: 20, per: key}", "bulkhead: {name: places, concurrent: 2, per: key}",
	},
	{
		"bulkhead: {name: whole, concurrent: 4, queue: 12, order: newest}",
		"limit: {rate: 1000/1ms, burst: 100000}", "breaker: {window: {consecutive: 8}, open: 1ms}",
	},
	{
		"breaker: {window: {calls: 50}, minimum: 20, failure_rate: 90%, open: 1ms, per: key}",
		"bulkhead: {name: whole, concurrent: 8}", "limit: {rate: 100/1ms, algorithm: sliding-counter, per: key}",
	},
}

// parallel counts what becomes of calls by what they return.
type parallel struct {
	p     *sluice.Pipeline
	clock clock.Virtual
	// releases are the goroutines that release what calls held.
	releases sync.WaitGroup

	succeeded, failed, refused, canceled, panicked, exited atomic.Int64

	crashed atomic.Pointer[crashedWith] // the first panic outside an attempt
}

// crashedWith is a panic.
type crashedWith struct {
	value any
	stack []byte
}

// TestSoakParallel is TestSoak on real goroutines with a clock that they advance
// while other goroutines are about to use an older mark of it. In a bubble of synctest
// goroutines run in parallel too, but only at one moment of its clock, so that all of
// them read the same mark.
func TestSoakParallel(t *testing.T) {
	soakFor(t, soakParallel)
}

func soakParallel(t *testing.T, seed uint64) {
	const workers, each = 24, 400
	before := runtime.NumGoroutine()
	set, _ := loaded(t, crowded[0]...)
	policies := make([]pipeline.Policy, len(crowded))
	for i, steps := range crowded {
		reload(t, set, steps...)
		policies[i] = set.Document().Policies[0].Policy
	}
	s := &parallel{}
	p, err := sluice.New(policies[0], sluice.WithClock(&s.clock), sluice.WithMaxKeys(6))
	require.NoError(t, err)
	s.p = p
	var all sync.WaitGroup
	for i := range workers {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() {
			for n := range each {
				var call sync.WaitGroup // on a goroutine of its own, because it may exit
				call.Go(func() { s.call(rng) })
				call.Wait()
				s.clock.Advance(time.Duration(rng.IntN(200)) * time.Microsecond)
				if n%50 == i {
					assert.NoError(t, p.Configure(policies[rng.IntN(len(policies))]))
				}
				if n%100 == i {
					assert.NoError(t, p.Restore(p.Snapshot()))
					p.State()
				}
			}
		})
	}
	all.Wait()
	s.releases.Wait()
	if c := s.crashed.Load(); c != nil {
		t.Errorf("a call panics: %v\n%s", c.value, c.stack)
	}
	s.clock.Advance(time.Hour)
	for _, policy := range policies {
		require.NoError(t, p.Configure(policy))
		rested(t, p)
	}
	counts := []*atomic.Int64{&s.succeeded, &s.failed, &s.refused, &s.canceled, &s.panicked, &s.exited}
	sum := int64(0)
	for _, n := range counts {
		assert.Greater(t, n.Load(), int64(20), "everything happens")
		sum += n.Load()
	}
	assert.EqualValues(t, workers*each, sum, "the ledger balances")
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			break
		}
		runtime.Gosched()
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "no goroutine is left")
	t.Logf("%d calls: %d succeeded, %d failed, %d refused, %d cancelled, %d panics, %d Goexits", sum,
		s.succeeded.Load(), s.failed.Load(), s.refused.Load(), s.canceled.Load(), s.panicked.Load(), s.exited.Load())
}

// call makes one call of any kind and counts it once.
func (s *parallel) call(rng *rand.Rand) {
	ctx := context.Background()
	if rng.IntN(4) == 0 {
		with, cancel := context.WithCancel(ctx)
		defer cancel()
		ctx = with
		after := rng.IntN(20)
		var done sync.WaitGroup
		defer done.Wait()
		done.Go(func() {
			pass(after)
			cancel()
		})
	}
	q := sluice.Request{Key: strconv.Itoa(rng.IntN(12)), Cost: rng.Uint32N(3), Holdable: rng.IntN(4) == 0}
	exits := true
	defer func() {
		if crash := recover(); crash != nil {
			if crash != "boom" {
				s.crashed.CompareAndSwap(nil, &crashedWith{crash, debug.Stack()})
			}
			s.panicked.Add(1)
		} else if exits {
			s.exited.Add(1)
		}
	}()
	var err error
	if rng.IntN(8) == 0 {
		err = s.twoPhases(ctx, q, rng)
	} else {
		_, err = sluice.DoWith(ctx, s.p, q, func(ctx context.Context) (int, error) { return s.attempt(ctx, rng) })
	}
	exits = false
	switch {
	case err == nil:
		s.succeeded.Add(1)
	case errors.Is(err, sluice.ErrRejected):
		s.refused.Add(1)
	case ctx.Err() != nil:
		s.canceled.Add(1)
	default:
		s.failed.Add(1)
	}
}

// pass yields to other goroutines.
func pass(n int) {
	for range n {
		runtime.Gosched()
	}
}

func (s *parallel) twoPhases(ctx context.Context, q sluice.Request, rng *rand.Rand) error {
	c, err := s.p.Begin(ctx, q)
	if err != nil {
		return err
	}
	defer c.Release()
	pass(rng.IntN(10))
	if rng.IntN(3) > 0 {
		c.Done(reducer.OK)
	}
	return nil
}

func (s *parallel) attempt(ctx context.Context, rng *rand.Rand) (int, error) {
	if rng.IntN(8) == 0 {
		release := sluice.Hold(ctx)
		defer s.releases.Go(release)
	}
	pass(rng.IntN(10))
	switch n := rng.IntN(100); {
	case n < 3:
		panic("boom")
	case n < 6:
		runtime.Goexit()
	case n < 30:
		return 0, errBoom
	case n < 33:
		return 0, sluice.Ignore(errBoom)
	}
	return 1, ctx.Err()
}
