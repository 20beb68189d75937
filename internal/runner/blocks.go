package runner

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// MaxBlocks is how many keys of a step may be blocked at a time.
const MaxBlocks = 10_000

// blocks are the keys of a step that an operator blocked. While there are none, a call
// costs one load.
type blocks struct {
	count atomic.Int64
	mu    sync.RWMutex
	until map[string]clock.Mark
}

func (b *blocks) any() bool { return b.count.Load() != 0 }

// find returns the mark until which a key is refused, and false where it is not.
func (b *blocks) find(key string, now clock.Mark) (until clock.Mark, ok bool) {
	if !b.any() {
		return 0, false
	}
	b.mu.RLock()
	until, ok = b.until[key]
	b.mu.RUnlock()
	return until, ok && now < until
}

// answer returns the refusal of a key that is blocked, and false where it is not.
func (b *blocks) answer(key string, now clock.Mark) (reducer.Answer, bool) {
	until, ok := b.find(key, now)
	return reducer.Rejected(reducer.ReasonBlocked, until), ok
}

// put blocks a key until a mark. It returns false where MaxBlocks others are blocked.
func (b *blocks) put(key string, until, now clock.Mark) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until == nil {
		b.until = map[string]clock.Mark{}
	}
	if _, known := b.until[key]; !known && len(b.until) >= MaxBlocks {
		b.purge(now)
		if len(b.until) >= MaxBlocks {
			return false
		}
	}
	b.until[key] = until
	b.count.Store(int64(len(b.until)))
	return true
}

// remove returns false where the key is not blocked.
func (b *blocks) remove(key string, now clock.Mark) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, ok := b.until[key]
	delete(b.until, key)
	b.count.Store(int64(len(b.until)))
	return ok && now < until
}

// purge removes the keys whose time is over. The caller holds the lock.
func (b *blocks) purge(now clock.Mark) {
	maps.DeleteFunc(b.until, func(_ string, until clock.Mark) bool { return until <= now })
	b.count.Store(int64(len(b.until)))
}

// all returns the keys that are blocked, with their marks.
func (b *blocks) all(now clock.Mark) map[string]clock.Mark {
	if !b.any() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.purge(now)
	return maps.Clone(b.until)
}

// clear removes all of them.
func (b *blocks) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = nil
	b.count.Store(0)
}
