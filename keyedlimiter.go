package sluice

import (
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
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
// A token bucket takes at most 64 bytes a key; with Config.WarmUp or Config.Block more,
// as the other algorithms. Keys themselves are not stored.
// NewKeyedLimiter makes one; a zero KeyedLimiter refuses every key.
type KeyedLimiter struct {
	settings *settings
	events   emitter
	maker    cell.Maker
	bucket   *tokenbucket.Machine // nil for other algorithms
	cells    *keyedcells.Cells
}

// NewKeyedLimiter makes a limiter that no key has used. It has no queue:
// Config.Wait and Config.Queue are 0, else it returns an error.
func NewKeyedLimiter(c limiter.Config, options ...Option) (*KeyedLimiter, error) {
	if c.Wait != 0 || c.Queue != 0 {
		return nil, reducer.BadDuration("wait", c.Wait, "0: a keyed limiter has no queue")
	}
	if err := checkAlone(c); err != nil {
		return nil, err
	}
	s, err := newSettings("KeyedLimiter", optionClock|optionMaxKeys|optionLogger, options)
	if err != nil {
		return nil, err
	}
	c = dated(c.WithDefaults(), s)
	machine, err := limiter.New(c)
	if err != nil {
		return nil, err
	}
	maker, err := limiter.Cells(c)
	if err != nil {
		return nil, err
	}
	l := &KeyedLimiter{settings: s, maker: maker}
	l.events.begin("limit", s)
	keys := DefaultMaxKeys
	if s.MaxKeys > 0 {
		keys = min(s.MaxKeys, keyed.MaxKeys)
	}
	config := keyedcells.Config{Config: keyed.Config{Keys: uint32(keys)}, Maker: maker, Reuse: true, Watched: func() bool { return l.events.listeners.Hears(decision.Evicted) }}
	if c.OneWord() {
		config.Bucket, config.Final = machine, true
		if l.bucket, err = tokenbucket.New(tokenbucket.Config{Count: c.Count, Period: c.Period, Burst: c.Burst}); err != nil {
			return nil, err
		}
	}
	l.cells, err = keyedcells.New(config)
	return l, err
}

// Allow reports whether the key has a permit free now, and takes it.
func (l *KeyedLimiter) Allow(key string) bool { return l.AllowN(key, 1) }

// AllowN is Allow for n permits: all of them or none. 0 is always allowed; more
// than the burst, or than the count of a window, never.
func (l *KeyedLimiter) AllowN(key string, n uint32) bool {
	if l.settings == nil {
		return false
	}
	if l.events.on() {
		return l.allowHeard(key, key, n)
	}
	return l.allow(key, n)
}

// allow is AllowN of a limiter without a listener.
func (l *KeyedLimiter) allow(key string, n uint32) (ok bool) {
	r, at, _ := l.cells.Use(key, l.settings.Now())
	if l.bucket != nil {
		word := r.Word()
		tat, admits := l.bucket.Take(clock.Mark(*word), n, at)
		*word, ok = uint64(tat), admits
	} else {
		answer := l.try(r, n, at)
		ok = answer.Verdict == reducer.Admit
	}
	r.Unlock()
	return ok
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
	if l.bucket != nil {
		word := r.Word()
		answer = peekBucket(l.bucket, clock.Mark(*word), n, at)
		if next, admits := l.bucket.Take(clock.Mark(*word), n, at); admits {
			*word = uint64(next)
		}
	} else {
		answer = l.try(r, n, at)
	}
	r.Unlock()
	for range l.cells.Evicted() {
		l.events.emit(noContext, at, &Event{Kind: decision.Evicted})
	}
	l.events.answered(noContext, name, n, answer, at)
	return answer.Verdict == reducer.Admit
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
		return l.maker.New(now).Step(a, now, new(reducer.Out))
	}
	defer r.Unlock()
	if l.bucket != nil {
		return peekBucket(l.bucket, clock.Mark(*r.Word()), n, now)
	}
	return r.Cell().Step(a, now, r.Out())
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
