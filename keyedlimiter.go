package sluice

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// KeyedLimiter is a rate limiter for each key. It is safe for concurrent use.
//
// A token bucket costs 24 bytes a key in tables without pointers, at most 64
// with the room that they have to spare; other algorithms keep a cell each. A
// key whose permits are all free is the same as one that never was, and its
// place is used again. There are at most as many other keys as WithMaxKeys
// says; above it, and until they have all their permits back, new keys share
// one limiter, see WithMaxKeys.
type KeyedLimiter struct {
	*settings
	bucket *tokenbucket.Machine
	seeds  [2]maphash.Seed
	shards []shard      // a power of two
	used   atomic.Int64 // slots
	next   atomic.Int64 // before which no bucket is full
	common atomic.Int64 // theoretical arrival time of the shared bucket
	hand   atomic.Uint64
	shared atomic.Uint64

	cells *runner.StepCells // of other algorithms than the token bucket
}

// shardKeys is how many keys a shard is meant for: what is done to a shard as a
// whole takes some microseconds.
const shardKeys = 1024

// NewKeyedLimiter makes a limiter that no key has used. Nobody waits at it:
// Config.Wait and Config.Queue have to be 0.
func NewKeyedLimiter(c limiter.Config, options ...Option) (*KeyedLimiter, error) {
	if c.Wait != 0 || c.Queue != 0 {
		return nil, reducer.BadDuration("wait", c.Wait, "0, without a queue: nobody waits at a keyed limiter")
	}
	// The pipeline validates the configuration, and has the cells.
	plan, err := pipeline.Compile(pipeline.Policy{Steps: []pipeline.Step{{Config: c, Per: []string{"key"}}}})
	if err != nil {
		return nil, err
	}
	s, err := newSettings("KeyedLimiter", optionClock|optionMaxKeys, options)
	if err != nil {
		return nil, err
	}
	p := newPipeline(plan, nil, s)
	l := &KeyedLimiter{settings: s, cells: p.engine.Step(0)}
	if c.Algorithm != limiter.TokenBucket {
		return l, nil
	}
	if l.bucket, err = tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst}); err != nil {
		return nil, err
	}
	l.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	l.shards = make([]shard, 1<<bits.Len(uint(l.MaxKeys/shardKeys)))
	for i := range l.shards {
		l.shards[i].last, l.shards[i].next = clock.Always, clock.Never
	}
	l.common.Store(int64(clock.Always))
	l.next.Store(int64(clock.Never))
	return l, nil
}

// Allow reports whether the key has a permit free now, and takes it.
func (l *KeyedLimiter) Allow(key string) bool { return l.AllowN(key, 1) }

// AllowN is Allow for n permits: all of them or none. 0 is always allowed; more
// than the burst, or than the count of a window, never.
func (l *KeyedLimiter) AllowN(key string, n uint32) bool {
	now := l.Now()
	if l.bucket == nil {
		b := l.cells.At(key, now)
		defer b.Done()
		if b.Shared() {
			l.shared.Add(1)
		}
		return b.Step(reducer.Action{Kind: reducer.TryAcquire, Cost: n}, now).Verdict == reducer.Admit
	}
	h := l.hash(key)
	s := l.shard(h)
	ok, full := l.take(s, h, n, now, false)
	if full {
		l.reclaim(now)
		ok, _ = l.take(s, h, n, now, true)
	}
	return ok
}

// take decides for a key. Where there is no place to keep it in, it says so,
// unless it is to share one.
func (l *KeyedLimiter) take(s *shard, h hash, n uint32, now clock.Mark, share bool) (ok, full bool) {
	s.mu.Lock()
	now = s.pass(now)
	at, found := s.find(h, now)
	if found {
		e := &s.slots[at]
		e.tat, ok = l.bucket.Take(e.tat, n, now)
		s.mu.Unlock()
		return ok, false
	}
	defer s.mu.Unlock()
	tat, ok := l.bucket.Take(now, n, now)
	switch {
	case !ok || n == 0:
		return ok, false
	case clock.Mark(l.common.Load()) > now:
		// The key may have taken from the shared bucket.
		return l.takeCommon(n, now), false
	case at >= 0 && s.slots[at].used():
		// In the place of a key with all its permits.
	case l.used.Add(1) > int64(l.MaxKeys):
		l.used.Add(-1)
		// The shard is held, so that the key does not get one meanwhile.
		return share && l.takeCommon(n, now), !share
	default:
		at = s.room(h, at, now, &l.used)
	}
	s.slots[at] = entry{h, tat}
	s.next = min(s.next, tat)
	l.soonest(tat)
	return true, false
}

// takeCommon takes from the bucket that keys share.
func (l *KeyedLimiter) takeCommon(n uint32, now clock.Mark) bool {
	l.shared.Add(1)
	for {
		tat := l.common.Load()
		next, ok := l.bucket.Take(clock.Mark(tat), n, now)
		if !ok || l.common.CompareAndSwap(tat, int64(next)) {
			return ok
		}
	}
}

// reclaim looks for places that keys do not need any more, in any shard. While
// it looks, others do not.
func (l *KeyedLimiter) reclaim(now clock.Mark) {
	next := l.next.Load()
	if clock.Mark(next) > now || !l.next.CompareAndSwap(next, int64(clock.Never)) {
		return
	}
	for range l.shards {
		s := &l.shards[l.hand.Add(1)&uint64(len(l.shards)-1)]
		s.mu.Lock()
		freed := 0
		if s.next <= now {
			freed = s.sweep(s.pass(now))
			l.used.Add(-int64(freed))
		}
		l.soonest(s.next)
		s.mu.Unlock()
		if freed > 0 {
			l.soonest(now) // there may be more
			return
		}
	}
}

// soonest notes that a bucket may be full from a mark on.
func (l *KeyedLimiter) soonest(at clock.Mark) {
	for next := l.next.Load(); int64(at) < next; next = l.next.Load() {
		if l.next.CompareAndSwap(next, int64(at)) {
			return
		}
	}
}

// Peek returns how many permits the key has free, and after what time n of them
// are; negative for never. It takes nothing.
func (l *KeyedLimiter) Peek(key string, n uint32) (free uint32, after time.Duration) {
	now := l.Now()
	a := reducer.Action{Kind: reducer.Peek, Cost: n}
	var answer reducer.Answer
	if l.bucket != nil {
		answer = peekBucket(l.bucket, l.tat(key, now), n, now)
	} else if b := l.cells.Peek(func(string) string { return key }); b != nil {
		answer = b.Step(a, now)
	} else {
		answer = l.cells.New(now).Step(a, now, new(reducer.Out))
	}
	if wait, ok := answer.RetryAfter(now); ok {
		return answer.Free, wait
	}
	if answer.Verdict == reducer.Admit {
		return answer.Free, 0
	}
	return answer.Free, -1
}

// tat returns the state of a key's bucket.
func (l *KeyedLimiter) tat(key string, now clock.Mark) clock.Mark {
	h := l.hash(key)
	s := l.shard(h)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, found := s.find(h, s.pass(now)); found {
		return s.slots[at].tat
	}
	return clock.Mark(l.common.Load())
}

// Len returns how many keys do not have all their permits. It looks at all of
// them.
func (l *KeyedLimiter) Len() (n int) {
	now := l.Now()
	for i := range l.shards {
		n += l.shards[i].count(now)
	}
	if l.bucket == nil {
		n = l.cells.Used(now)
	}
	return n
}

// Shared returns how many decisions were made by the limiter that keys above
// the maximum share. Where it grows, WithMaxKeys is too low.
func (l *KeyedLimiter) Shared() uint64 { return l.shared.Load() }

func (l *KeyedLimiter) hash(key string) hash {
	// No key has the hash of a slot that was never used.
	return hash{maphash.String(l.seeds[0], key), maphash.String(l.seeds[1], key) | 1}
}

func (l *KeyedLimiter) shard(h hash) *shard {
	return &l.shards[h.high>>32&uint64(len(l.shards)-1)]
}
