package sluice

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/internal/keyedcells"
	"github.com/sluice-go/sluice/reducer"
)

// KeyedLimiter is a rate limiter for each key. It is safe for concurrent use.
//
// WithMaxKeys sets the maximum of keys. When it is reached, a new key evicts the
// least recently used one, which starts with all its permits when it is used again.
// A key is not evicted while fewer than half of the maximum of other keys were used
// since its own last use. Every request is a use, also one that is refused. The
// eviction of a key that has all its permits has no effect on decisions.
//
// A token bucket takes at most 64 bytes a key, and 16 more once reservations or resets have
// returned permits; with Config.WarmUp or Config.Block more, as the other algorithms. Keys
// themselves are not stored.
// NewKeyedLimiter makes one; a zero KeyedLimiter refuses every key.
type KeyedLimiter struct {
	settings *settings
	events   emitter
	config   atomic.Pointer[keyedRate]
	change   sync.Mutex // guards against concurrent Configure
	cells    *keyedcells.Cells
}

// keyedRate is the configuration of a KeyedLimiter.
type keyedRate struct {
	cells  keyedcells.Config
	wait   time.Duration // the longest one of Wait, 0 for as long as the caller waits
	blocks bool
}

// NewKeyedLimiter makes a limiter that no key has used. Config.Wait bounds Wait alone;
// without it a caller waits until its context is over. Config.Queue is 0, else it returns an
// error: how many callers wait is not bounded. Beside Config.Block no caller waits.
func NewKeyedLimiter(c limiter.Config, options ...Option) (*KeyedLimiter, error) {
	s, err := newSettings("KeyedLimiter", optionClock|optionMaxKeys|optionLogger|optionRequestID|optionShadow, options)
	if err != nil {
		return nil, err
	}
	l := &KeyedLimiter{settings: s}
	rate, err := l.rate(c)
	if err != nil {
		return nil, err
	}
	l.events.begin("limit", s)
	l.config.Store(rate)
	l.cells, err = keyedcells.New(rate.cells)
	return l, err
}

// rate returns what a configuration says of the cells of the keys.
func (l *KeyedLimiter) rate(c limiter.Config) (*keyedRate, error) {
	if c.Queue != 0 {
		return nil, reducer.BadCount("queue", uint64(c.Queue), "0: a keyed limiter does not bound how many callers wait")
	}
	if err := checkAlone(c); err != nil {
		return nil, err
	}
	rate := &keyedRate{wait: c.Wait, blocks: c.Block.After > 0}
	if c.Wait < 0 || rate.blocks && c.Wait > 0 {
		return nil, reducer.BadDuration("wait", c.Wait, "0 or more, and 0 beside a block")
	}
	c.Wait = 0
	c = dated(c.WithDefaults(), l.settings)
	machine, err := limiter.New(c)
	if err != nil {
		return nil, err
	}
	maker, err := limiter.Cells(c)
	if err != nil {
		return nil, err
	}
	keys := DefaultMaxKeys
	if l.settings.MaxKeys > 0 {
		keys = min(l.settings.MaxKeys, keyed.MaxKeys)
	}
	rate.cells = keyedcells.Config{Config: keyed.Config{Keys: uint32(keys)}, Maker: maker, Reuse: true, Watched: func() bool { return l.events.listeners.Hears(decision.Evicted) }}
	if c.OneWord() {
		rate.cells.Bucket = machine
	}
	return rate, nil
}

// Allow reports whether the key has a permit free now, and takes it.
func (l *KeyedLimiter) Allow(key string) bool { return l.AllowN(key, 1) }

// AllowN is Allow for n permits: all of them or none. 0 is always allowed; more
// than the burst, or than the count of a window, never.
func (l *KeyedLimiter) AllowN(key string, n uint32) bool { return l.allow(key, key, n) }

// allow is AllowN. name is the key in events.
func (l *KeyedLimiter) allow(key, name string, n uint32) (ok bool) {
	if l.settings == nil {
		return false
	}
	if l.events.on() {
		return l.allowHeard(key, name, n)
	}
	r, at, _ := l.cells.Use(key, l.settings.Now())
	if word, bucket := r.Word(); word != nil {
		tat, admits := bucket.Take(clock.Mark(*word), n, at)
		*word, ok = uint64(tat), admits
	} else {
		answer := l.try(r, n, at)
		ok = answer.Verdict == reducer.Admit
	}
	r.Unlock()
	return ok || l.settings.shadow
}

// try asks the cell of a key for permits.
func (l *KeyedLimiter) try(r keyedcells.Ref, n uint32, at clock.Mark) reducer.Answer {
	a := r.Acquire(reducer.Action{Kind: reducer.TryAcquire, Cost: n})
	answer := r.Cell().Step(a, at, r.Out())
	r.Answered(&a, &answer)
	return answer
}

// allowHeard is AllowN of a limiter with a listener. name is the key in events.
func (l *KeyedLimiter) allowHeard(key, name string, n uint32) bool {
	var answer reducer.Answer
	r, at, _ := l.cells.Use(key, l.settings.Now())
	if word, bucket := r.Word(); word != nil {
		answer = peekBucket(bucket, clock.Mark(*word), n, at)
		if next, admits := bucket.Take(clock.Mark(*word), n, at); admits {
			*word = uint64(next)
		}
	} else {
		answer = l.try(r, n, at)
	}
	r.Unlock()
	l.evicted(at)
	l.events.answered(noContext, name, n, answer, at)
	return answer.Verdict == reducer.Admit || l.settings.shadow
}

// evicted emits that keys were evicted.
func (l *KeyedLimiter) evicted(at clock.Mark) {
	for range l.cells.Evicted() {
		l.events.emit(noContext, at, &Event{Kind: decision.Evicted})
	}
}

// Peek returns how many permits the key has free, and after what time n of them
// are; negative for never. It takes nothing and does not count as a use of the key.
func (l *KeyedLimiter) Peek(key string, n uint32) (free uint32, after time.Duration) {
	if l.settings == nil {
		return 0, -1
	}
	now := l.settings.Now()
	answer := l.peek(key, n, now)
	if answer.Verdict == reducer.Admit {
		return answer.Free, 0
	}
	if wait, ok := answer.RetryAfter(now); ok {
		return answer.Free, wait
	}
	return answer.Free, -1
}

func (l *KeyedLimiter) peek(key string, n uint32, now clock.Mark) reducer.Answer {
	a := reducer.Action{Kind: reducer.Peek, Cost: n}
	r, ok := l.cells.Find(key)
	if !ok {
		return l.config.Load().cells.Maker.New(now).Step(a, now, new(reducer.Out))
	}
	defer r.Unlock()
	if word, bucket := r.Word(); word != nil {
		return peekBucket(bucket, clock.Mark(*word), n, now)
	}
	return r.Cell().Step(a, now, r.Out())
}

// Configure changes the active limiter: each key keeps its free permits, or its debt, as the
// policy reference says. A key that has all its permits may be forgotten already, and then
// starts with all of the new ones. Callers that wait keep their turns. An error changes
// nothing.
func (l *KeyedLimiter) Configure(c limiter.Config) error {
	if l.settings == nil {
		return errZeroKeyed
	}
	rate, err := l.rate(c)
	if err != nil {
		return err
	}
	l.change.Lock()
	now := l.settings.Now()
	err = l.cells.Configure(rate.cells, now, func(r keyedcells.Ref, old cell.Cell, next cell.Maker) cell.Cell {
		return cell.Adopt(next, old, now, r.Out())
	})
	if err == nil {
		l.config.Store(rate)
	}
	l.change.Unlock()
	if err == nil {
		l.events.configured(now)
	}
	return err
}

// Reset gives the key all its permits, and ends its block. What was reserved no longer
// counts; callers that wait keep their turns. It returns false where the limiter does not
// know the key, which then has all its permits already.
func (l *KeyedLimiter) Reset(key string) bool { return l.reset(key, key) }

// reset is Reset. name is the key in events.
func (l *KeyedLimiter) reset(key, name string) bool {
	if l.settings == nil {
		return false
	}
	r, ok := l.cells.Find(key)
	if !ok {
		return false
	}
	now := max(l.settings.Now(), r.Last())
	r.Cell().Step(reducer.Action{Kind: reducer.Reset}, now, r.Out())
	r.Unlock()
	l.events.emit(noContext, now, &Event{Kind: decision.Manual, Key: name, Action: ActionReset})
	return true
}

// Len returns how many keys do not have all their permits. It visits all keys.
func (l *KeyedLimiter) Len() (n int) {
	if l.settings == nil {
		return 0
	}
	now := l.settings.Now()
	l.cells.Each(func(r keyedcells.Ref) {
		if !r.Fresh(now) {
			n++
		}
	})
	return n
}

// Evictions returns how many keys were evicted before they had all their permits
// back. Where it grows, WithMaxKeys is too low.
func (l *KeyedLimiter) Evictions() uint64 {
	if l.settings == nil {
		return 0
	}
	return l.cells.Counts().Evictions
}
