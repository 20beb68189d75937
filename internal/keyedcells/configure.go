package keyedcells

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
)

// Adopt returns a cell of next with the state of an old one, by Maker.Adopt. It may
// use Key, Side and Handle of the Ref.
type Adopt func(r Ref, old cell.Cell, next cell.Maker) cell.Cell

// Configure replaces the configuration, with the same Names.
// It calls adopt for one cell after another, the spare cell included, but where
// both configurations have a Bucket. A shard at which callers wait keeps values of
// cell.Cell, whatever the configuration. Handles stay valid. Where there are more keys
// than the new number, keys that are not held are evicted: the least recently used
// of each shard.
//
// It locks one shard at a time, and all of them where another number of keys
// needs another number of shards.
func (c *Cells) Configure(next Config, now clock.Mark, adopt Adopt) error {
	if err := next.Check(); err != nil {
		return err
	}
	c.change.Lock()
	defer c.change.Unlock()
	c.limit.Store(int64(next.Keys))
	shards := *c.shards.Load()
	bounds := next.bounds(len(shards))
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		s.adopt(&next, now, adopt)
		// The bounds are checked.
		_ = s.table.Configure(bounds)
		s.mu.Unlock()
	}
	if n := keyed.Shards(next.Keys); n != len(shards) {
		c.reshard(next)
	}
	c.trim()
	return nil
}

// adopt replaces the states by the states of another configuration.
func (s *shard) adopt(next *Config, now clock.Mark, adopt Adopt) {
	s.last = max(s.last, now)
	old, own := s.config, *next
	if old.Bucket == nil && s.held() {
		own.Bucket = nil // waiters keep their places
	}
	next, s.config, s.blocks = &own, &own, cell.Blocks(own.Maker)
	s.grow(s.table.Len())
	for index := range s.table.Len() + 1 {
		switch {
		case index == keyed.Spare && !s.shares:
		case old.Bucket != nil && next.Bucket != nil:
			state := s.bucket(index)
			next.Bucket.Inherit(&state, old.Bucket, s.last, &s.out)
			s.setBucket(index, &state)
			s.table.Stepped(index)
		default:
			s.set(index, adopt(Ref{s, index}, s.thaw(old, index), next.Maker))
		}
	}
	if next.Bucket == nil {
		s.buckets, s.rests = keyed.Slab[rest]{}, false
	} else {
		s.cells = keyed.Slab[cell.Cell]{}
	}
}

// held reports whether any cell of the shard is held.
func (s *shard) held() bool {
	return s.table.Counts().Held > 0 || s.shares && (*s.cells.At(keyed.Spare)).Held()
}

// thaw returns the cell of an index under the configuration that it has.
func (s *shard) thaw(config *Config, index uint32) cell.Cell {
	if config.Bucket == nil {
		return *s.cells.At(index)
	}
	c := config.Maker.New(s.last)
	_, state := limiter.Of(c)
	*state = s.bucket(index)
	return c
}

// set puts a cell in place, or its state where it is a token bucket's.
func (s *shard) set(index uint32, c cell.Cell) {
	if s.config.Bucket == nil {
		*s.cells.At(index) = c
		s.note(index)
		return
	}
	if _, state := limiter.Of(c); state != nil {
		s.setBucket(index, state)
	}
	s.table.Stepped(index)
}

// reshard moves all cells into another number of shards.
func (c *Cells) reshard(next Config) {
	from := *c.shards.Load()
	for i := range from {
		from[i].mu.Lock()
	}
	for i := range from {
		if from[i].config.Bucket == nil {
			next.Bucket = nil
		}
	}
	to := c.newShards(next)
	orders, longest, last := make([][]uint32, len(from)), 0, clock.Always
	for i := range from {
		orders[i] = from[i].table.ByUse(nil)
		longest = max(longest, len(orders[i]))
		last = max(last, from[i].last)
	}
	for i := range to {
		to[i].last = last
	}
	// Shards are used alike, so that a place in the order of one is as long ago
	// as the same place in the order of another.
	for at := range longest {
		for i, order := range orders {
			for _, index := range order[at*len(order)/longest : (at+1)*len(order)/longest] {
				s := &to[keyed.ShardOf(from[i].table.Hash(index), len(to))]
				s.carry(s.table.Import(&from[i].table, index), &from[i], index)
			}
		}
	}
	if from[0].shares {
		to[0].shares = true
		to[0].carry(keyed.Spare, &from[0], keyed.Spare)
	}
	for i := range from {
		counts := from[i].table.Counts()
		c.past.Evictions += counts.Evictions
		c.past.Shared += counts.Shared
		c.past.Unblocked += counts.Unblocked
		from[i].moved = true
	}
	c.shards.Store(&to)
	for i := range from {
		from[i].mu.Unlock()
	}
}

// carry copies the state of a cell of another shard.
func (s *shard) carry(index uint32, from *shard, old uint32) {
	s.grow(index)
	if s.config.Bucket == nil {
		*s.cells.At(index) = from.thaw(from.config, old)
		if index != keyed.Spare {
			s.note(index)
		}
	} else {
		state := from.bucket(old)
		s.setBucket(index, &state)
	}
	if s.config.Names {
		*s.names.At(index) = *from.names.At(old)
		s.charge(*s.names.At(index), 1)
	}
	if side := (Ref{from, old}).Side(); side != nil {
		Ref{s, index}.SetSide(side)
	}
}

// trim evicts the keys beyond the bounds: first of the shards that have more than
// their part, then of any.
func (c *Cells) trim() {
	shards := *c.shards.Load()
	if shards[0].config.WhenFull == keyed.FullShare {
		return
	}
	for _, fair := range []bool{true, false} {
		for i := range shards {
			s := &shards[i]
			s.mu.Lock()
			part := keyed.ShardKeys(uint32(c.limit.Load()), len(shards), i)
			for c.keys.Load() > c.limit.Load() && (!fair || s.table.Len() > part) && s.evict() {
			}
			s.trim()
			s.mu.Unlock()
		}
	}
}
