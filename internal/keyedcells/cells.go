package keyedcells

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// Config says what cells a step has.
type Config struct {
	// Config bounds the keys of all shards together. CellBytes is the memory of a cell of
	// Maker; New adds the memory of the slabs.
	keyed.Config
	// Maker makes the cells.
	Maker cell.Maker
	// Bucket is the machine of a limit by token bucket without a queue, nil for
	// all else.
	Bucket *limiter.Machine
	// Names keeps the keys, for events and snapshots.
	Names bool
	// Watched reports whether evicted keys are kept for Evicted. nil for never.
	Watched func() bool
	// Reuse is for limits: a refund to a fresh limit does nothing, while a fresh breaker
	// still waits for the votes of calls under way. A key with all its permits may be
	// forgotten, and then Configure does not find it.
	Reuse bool
}

// Cells are the cells of a step by key.
type Cells struct {
	seeds  [2]maphash.Seed
	shards atomic.Pointer[[]shard] // their number is a power of two
	keys   atomic.Int64            // that have a cell of their own
	limit  atomic.Int64            // Config.Keys
	change sync.Mutex              // guards the configuration and what follows
	past   keyed.Counts            // of tables that were replaced

	watched func() bool // Config.Watched
	lost    struct {
		sync.Mutex
		keys []string
		some atomic.Bool // keys has one
	}
}

// New returns the cells of a step that no key has used.
func New(c Config) (*Cells, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	cells := &Cells{watched: c.Watched, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	cells.limit.Store(int64(c.Keys))
	shards := cells.newShards(c)
	cells.shards.Store(&shards)
	return cells, nil
}

// hash returns the hash of a key: 128 bits by two seeds, so that clients cannot
// choose keys that collide.
func (c *Cells) hash(key string) keyed.Hash {
	return keyed.Hash{Hi: maphash.String(c.seeds[0], key), Lo: maphash.String(c.seeds[1], key)}
}

// lock returns the shard of a hash, locked.
func (c *Cells) lock(h keyed.Hash) *shard {
	for {
		shards := *c.shards.Load()
		s := &shards[keyed.ShardOf(h, len(shards))]
		s.mu.Lock()
		if !s.moved {
			return s
		}
		s.mu.Unlock()
	}
}

// Use returns the cell of a key, locked, and makes the key the most recently
// used. A key without a cell gets one, or the spare cell. The caller steps the
// cell at the mark at, which is now or later: a new cell does not begin before
// the last use of the cell that the key may have had. how says how the key came
// to its cell.
func (c *Cells) Use(key string, now clock.Mark) (r Ref, at clock.Mark, how keyed.Use) {
	h := c.hash(key)
	s := c.lock(h)
	if s.last < now {
		s.last = now
	}
	if index, ok := s.table.Refresh(h); ok {
		return Ref{s, index}, now, keyed.Known
	}
	r, how = c.add(s, h, key)
	return r, max(now, r.s.last), how
}

// Enter acquires a permit that is free at once, as cell.Cell.Enter does, and returns
// the handle of the cell. It returns false when the caller must use Step.
func (c *Cells) Enter(key string, cost uint32, now clock.Mark) (p reducer.Permit, h keyed.Handle, ok bool) {
	r, at, _ := c.Use(key, now)
	p, ok = r.Cell().Enter(cost, 0, clock.Never, at)
	h = r.Handle()
	r.Unlock()
	return p, h, ok
}

// add is Use for a key without a cell in its shard, which is locked.
func (c *Cells) add(s *shard, h keyed.Hash, key string) (Ref, keyed.Use) {
	for freed := false; ; freed = true {
		s.charge(key, 1)
		s.trim()
		if s.config.Reuse {
			if coldest := s.table.Coldest(); coldest != keyed.Spare && s.fresh(coldest, s.last) {
				return s.reuse(coldest, h, key), keyed.Added
			}
		}
		if c.takeRoom(s) {
			index, _ := s.table.Add(h, true)
			s.grow(index)
			return s.begin(index, key), keyed.Added
		}
		victim := uint32(keyed.Spare)
		if s.config.WhenFull == keyed.FullEvict {
			victim = s.table.Victim()
		}
		switch {
		case victim != keyed.Spare && s.config.Reuse && s.fresh(victim, s.last):
			return s.reuse(victim, h, key), keyed.Added
		case victim != keyed.Spare:
			s.lose(victim)
			index, _ := s.table.Add(h, false)
			return s.begin(index, key), keyed.Evicted
		case freed || s.config.WhenFull == keyed.FullShare:
			s.table.Add(h, false) // counts
			s.charge(key, -1)
			s.mu.Unlock()
			return c.spare(), keyed.Shared
		}
		// All cells of this shard are held. Another caller may add the key while
		// other shards are asked.
		s.charge(key, -1)
		s.mu.Unlock()
		c.makeRoom()
		s = c.lock(h)
		if index, ok := s.table.Refresh(h); ok {
			return Ref{s, index}, keyed.Known
		}
	}
}

// takeRoom counts one more key, and returns false where there is no room for it.
func (c *Cells) takeRoom(s *shard) bool {
	if c.keys.Add(1) <= c.limit.Load() && s.table.Room() {
		return true
	}
	c.keys.Add(-1)
	return false
}

// makeRoom evicts a key of any shard.
func (c *Cells) makeRoom() {
	shards := *c.shards.Load()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		ok := !s.moved && s.evict()
		s.mu.Unlock()
		if ok {
			return
		}
	}
}

// spare returns the cell that new keys share, locked. It is in the first shard.
func (c *Cells) spare() Ref {
	s := c.lock(keyed.Hash{})
	if !s.shares {
		s.shares = true
		s.begin(keyed.Spare, "")
	}
	return Ref{s, keyed.Spare}
}

// Find returns the cell of a key, locked. The cell of a key that has none is the
// spare cell where a new key would share it; else ok is false, and nothing is
// locked.
func (c *Cells) Find(key string) (r Ref, ok bool) {
	h := c.hash(key)
	s := c.lock(h)
	if index, ok := s.table.Find(h); ok {
		return Ref{s, index}, true
	}
	shares := s.config.WhenFull == keyed.FullShare && c.keys.Load() >= c.limit.Load()
	s.mu.Unlock()
	if !shares {
		return Ref{}, false
	}
	return c.spare(), true
}

// Resolve returns the cell of a handle, locked. It returns false, and locks nothing,
// when its key was evicted: a permit of that cell then has no effect.
func (c *Cells) Resolve(h keyed.Handle) (r Ref, ok bool) {
	s := c.lock(h.Hash)
	if index, ok := s.table.Resolve(h); ok {
		return Ref{s, index}, true
	}
	s.mu.Unlock()
	return Ref{}, false
}

// Each calls f with the cell of every key, and with the spare cell where there is
// one. One shard is locked at a time; f does not unlock it. The keys of a shard
// come in the order of their last use, so that uses in this order restore it.
func (c *Cells) Each(f func(Ref)) {
	c.change.Lock()
	defer c.change.Unlock()
	shards := *c.shards.Load()
	var order []uint32
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		if s.shares {
			f(Ref{s, keyed.Spare})
		}
		order = s.table.ByUse(order[:0])
		for _, index := range order {
			f(Ref{s, index})
		}
		s.mu.Unlock()
	}
}

// Counts returns how many keys have a cell, how many of them are held, what was
// evicted and shared so far, and the memory.
func (c *Cells) Counts() keyed.Counts {
	c.change.Lock()
	defer c.change.Unlock()
	sum := c.past
	shards := *c.shards.Load()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		sum = plus(sum, s.table.Counts())
		s.mu.Unlock()
	}
	return sum
}

func plus(a, b keyed.Counts) keyed.Counts {
	return keyed.Counts{
		Keys: a.Keys + b.Keys, Held: a.Held + b.Held,
		Evictions: a.Evictions + b.Evictions, Shared: a.Shared + b.Shared, Unblocked: a.Unblocked + b.Unblocked, Bytes: a.Bytes + b.Bytes,
	}
}
