package apitest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// alone are the mechanisms without a pipeline, one of each kind.
type alone struct {
	limiters  [3]*sluice.Limiter
	keyed     [3]*sluice.KeyedLimiter
	bulkhead  *sluice.Bulkhead
	breaker   *sluice.Breaker
	submitted atomic.Int64

	granted, refused, gaveUp, reserved, cancelled, panicked, exited, ran atomic.Int64
}

// limits are the configurations that a limiter gets in turn, whatever its algorithm;
// it ends with the last one.
func limits(a limiter.Algorithm) []limiter.Config {
	all := []limiter.Config{
		rate(500, time.Second), rate(50, 100*time.Millisecond), rate(20, 10*time.Millisecond),
	}
	for i := range all {
		all[i].Algorithm = a
	}
	all[0].Wait, all[0].Queue = 50*time.Millisecond, 20
	all[1].Wait, all[1].Queue, all[1].Order = 20*time.Millisecond, 5, limiter.Newest
	return all
}

// opening returns a breaker configuration that opens soon and for a short time.
func opening() breaker.Config {
	return breaker.Config{Window: breaker.Calls, Count: 10, Minimum: 5, FailureRate: reducer.Percent(50), Probes: 2,
		Open: backoff.Config{Kind: backoff.Constant, Base: 20 * time.Millisecond}}
}

func newAlone(t *testing.T) *alone {
	t.Helper()
	s := &alone{}
	var err error
	for i := range s.limiters {
		algorithm := limiter.Algorithm(i)
		s.limiters[i], err = sluice.NewLimiter(limits(algorithm)[0])
		require.NoError(t, err)
		c := rate(2, 500*time.Millisecond)
		c.Algorithm = algorithm
		s.keyed[i], err = sluice.NewKeyedLimiter(c, sluice.WithMaxKeys(8))
		require.NoError(t, err)
	}
	s.bulkhead, err = sluice.NewBulkhead(leased(3))
	require.NoError(t, err)
	s.breaker, err = sluice.NewBreaker(opening())
	require.NoError(t, err)
	return s
}

// leased returns a configuration whose places return by their leases.
func leased(n uint32) bulkhead.Config {
	return bulkhead.Config{Concurrent: n, Queue: 10, Wait: 50 * time.Millisecond, Lease: 200 * time.Millisecond}
}

// TestSoakAlone has callers of every kind use limiters, a bulkhead and a breaker
// in virtual time, while these are changed by hand.
func TestSoakAlone(t *testing.T) {
	soakFor(t, func(t *testing.T, seed uint64) {
		bubble(t, func(t *testing.T) { soakAlone(t, seed) })
	})
}

func soakAlone(t *testing.T, seed uint64) {
	const calls = 20_000
	s := newAlone(t)
	var all sync.WaitGroup
	rng := rand.New(rand.NewPCG(11, seed))
	for i := range calls {
		call := rand.New(rand.NewPCG(seed, uint64(i)))
		all.Go(func() { s.call(call) })
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(8)) * time.Millisecond)
		}
		if rng.IntN(100) == 0 {
			s.change(t, rng)
		}
	}
	all.Wait()
	time.Sleep(time.Hour)
	s.atRest(t)
	assert.EqualValues(t, calls, s.submitted.Load())
	sum := int64(0)
	for _, n := range []*atomic.Int64{&s.granted, &s.refused, &s.gaveUp, &s.reserved, &s.cancelled, &s.panicked, &s.exited, &s.ran} {
		assert.Greater(t, n.Load(), int64(50), "everything happens")
		sum += n.Load()
	}
	assert.EqualValues(t, calls, sum, "the ledger balances")
	t.Logf("%d calls: %d granted, %d ran, %d refused, %d gave up, %d reserved, %d cancelled, %d panics, %d Goexits", calls,
		s.granted.Load(), s.ran.Load(), s.refused.Load(), s.gaveUp.Load(), s.reserved.Load(), s.cancelled.Load(), s.panicked.Load(), s.exited.Load())
}

// change changes one of the mechanisms by hand.
func (s *alone) change(t *testing.T, rng *rand.Rand) {
	t.Helper()
	l := s.limiters[rng.IntN(3)]
	switch rng.IntN(6) {
	case 0:
		// Its algorithm changes too.
		assert.NoError(t, l.Configure(limits(limiter.Algorithm(rng.IntN(3)))[rng.IntN(3)]))
	case 1:
		l.Drain()
	case 2:
		assert.NoError(t, s.bulkhead.Configure(leased(1+rng.Uint32N(6))))
	case 3:
		assert.NoError(t, s.breaker.Configure(opening()))
	case 4:
		s.breaker.Reset()
	default:
		s.breaker.Transition(breaker.Mode(rng.IntN(6)))
	}
}

// atRest checks that nothing is held, and that a new caller can acquire everything.
func (s *alone) atRest(t *testing.T) {
	t.Helper()
	for i, l := range s.limiters {
		last := limits(limiter.Algorithm(i))[2]
		require.NoError(t, l.Configure(last))
		time.Sleep(time.Hour)
		free, after := l.Peek(last.Count)
		assert.Equal(t, last.Count, free)
		assert.Zero(t, after)
		require.NoError(t, l.WaitN(t.Context(), last.Count))
		assert.Zero(t, s.keyed[i].Len())
		assert.NotZero(t, s.keyed[i].Evictions(), "there were more keys than room for them")
	}
	require.NoError(t, s.bulkhead.Configure(leased(5)))
	for range 5 {
		_, ok := s.bulkhead.TryAcquire()
		assert.True(t, ok)
	}
	_, ok := s.bulkhead.TryAcquire()
	assert.False(t, ok)
	s.breaker.Transition(breaker.Closed)
	require.NoError(t, s.breaker.Do(t.Context(), func(context.Context) error { return nil }))
}

// call makes one call of any kind and counts it once.
func (s *alone) call(rng *rand.Rand) {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	switch rng.IntN(4) {
	case 0:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(1+rng.IntN(60))*time.Millisecond)
	case 1:
		ctx, cancel = context.WithCancel(ctx)
		time.AfterFunc(time.Duration(1+rng.IntN(60))*time.Millisecond, cancel)
	}
	defer cancel()
	s.submitted.Add(1)
	n := 1 + rng.Uint32N(3)
	l := s.limiters[rng.IntN(3)]
	switch rng.IntN(7) {
	case 0, 1:
		s.count(ctx, l.WaitN(ctx, n), &s.granted)
	case 2:
		s.allowed(l.AllowN(n))
	case 3:
		s.reserve(l, n, rng)
	case 4:
		s.allowed(s.keyed[rng.IntN(3)].AllowN(strconv.Itoa(rng.IntN(30)), n))
	case 5:
		s.place(ctx, rng)
	default:
		s.guard(ctx, rng, s.breaker.Do)
	}
}

func (s *alone) allowed(ok bool) {
	if ok {
		s.granted.Add(1)
	} else {
		s.refused.Add(1)
	}
}

func (s *alone) count(ctx context.Context, err error, ok *atomic.Int64) {
	switch {
	case err == nil:
		ok.Add(1)
	case errors.Is(err, sluice.ErrRejected):
		s.refused.Add(1)
	case ctx.Err() != nil:
		s.gaveUp.Add(1)
	default:
		s.ran.Add(1)
	}
}

func (s *alone) reserve(l *sluice.Limiter, n uint32, rng *rand.Rand) {
	r, err := l.Reserve(n, time.Duration(rng.IntN(30))*time.Millisecond)
	switch {
	case err != nil:
		s.refused.Add(1)
	case rng.IntN(2) == 0:
		time.Sleep(r.Delay() / 2)
		r.Cancel()
		s.cancelled.Add(1)
	default:
		time.Sleep(r.Delay())
		s.reserved.Add(1)
	}
}

// place takes a place in the bulkhead and releases it once, never or twice.
func (s *alone) place(ctx context.Context, rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		s.guard(ctx, rng, s.bulkhead.Do)
		return
	}
	p, err := s.bulkhead.Acquire(ctx)
	s.count(ctx, err, &s.granted)
	if err != nil {
		return
	}
	time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	p.Renew()
	for range rng.IntN(3) {
		p.Release()
	}
}

// guard guards a function that ends in any way.
func (s *alone) guard(ctx context.Context, rng *rand.Rand, do func(context.Context, func(context.Context) error) error) {
	exits := true
	defer func() {
		if recover() != nil {
			s.panicked.Add(1)
		} else if exits {
			s.exited.Add(1)
		}
	}()
	err := do(ctx, func(context.Context) error {
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		switch rng.IntN(8) {
		case 0:
			panic("boom")
		case 1:
			runtime.Goexit()
		case 2, 3:
			return errBoom
		}
		return nil
	})
	exits = false
	s.count(ctx, err, &s.ran)
}
