package keyedcells

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
)

// shard is a table with the states of its cells, by their indices. It takes 576 bytes, so
// that shards share no line of a cache.
type shard struct {
	mu     sync.Mutex
	moved  bool // its keys are in other shards
	shares bool // it has the spare cell
	blocks bool // its cells may block
	rests  bool // a token bucket has more than its TAT
	last   clock.Mark
	config *Config
	owner  *Cells
	table  keyed.Table

	// The states: cells, or token buckets. The TAT of a bucket is the word of
	// the table.
	cells   keyed.Slab[cell.Cell]
	buckets keyed.Slab[rest] // where rests says so

	names keyed.Slab[string]
	sides map[keyed.Hash]any
	out   reducer.Out
	view  bucket
}

func (c *Cells) newShards(config Config) []shard {
	shards := make([]shard, keyed.Shards(config.Keys))
	bounds := config.bounds(len(shards))
	for i := range shards {
		s := &shards[i]
		s.owner, s.config, s.last, s.blocks = c, &config, clock.Always, cell.Blocks(config.Maker)
		// The bounds are checked.
		table, _ := keyed.New(bounds)
		s.table = *table
		s.table.SetHolder(s)
		s.grow(keyed.Spare)
	}
	return shards
}

// looseKeys is how many keys a step has whose order of use is not exact, see
// keyed.Config.Loose.
const looseKeys = 256

// bounds returns the bounds of one of so many tables. The owner counts the keys.
func (c Config) bounds(shards int) keyed.Config {
	b := c.Config
	b.Part = keyed.ShardKeys(b.Keys, shards, shards-1)
	b.Loose = b.Keys >= looseKeys && !cell.Blocks(c.Maker)
	b.Keys, b.Bytes = keyed.MaxKeys, b.Bytes/uint64(shards)
	switch {
	case c.Bucket == nil:
		b.CellBytes += uint32(unsafe.Sizeof(cell.Cell(nil)))
	default:
		b.CellBytes = uint32(unsafe.Sizeof(rest{}))
	}
	if c.Names {
		b.CellBytes += uint32(unsafe.Sizeof(""))
	}
	return b
}

// grow makes room for the states up to an index.
func (s *shard) grow(index uint32) {
	switch {
	case s.config.Bucket == nil:
		s.cells.Grow(index)
	case s.rests:
		s.buckets.Grow(index)
	}
	if s.config.Names {
		s.names.Grow(index)
	}
}

// begin puts a new cell in place.
func (s *shard) begin(index uint32, key string) Ref {
	if s.config.Bucket == nil {
		*s.cells.At(index) = s.config.Maker.New(s.last)
	} else {
		var state limiter.State
		s.config.Bucket.Begin(&state, s.last)
		s.setBucket(index, &state)
	}
	if s.config.Names {
		// A copy, because the key may be part of a long text.
		*s.names.At(index) = strings.Clone(key)
	}
	return Ref{s, index}
}

// reuse gives the cell of a key, which is as good as a new one, to another key.
func (s *shard) reuse(index uint32, h keyed.Hash, key string) Ref {
	s.forget(index)
	s.table.Replace(index, h)
	return s.begin(index, key)
}

// Now implements keyed.Holder.
func (s *shard) Now() clock.Mark { return s.last }

// Class implements keyed.Holder.
func (s *shard) Class(index uint32) (reducer.Class, clock.Mark) {
	if s.config.Bucket == nil {
		return (*s.cells.At(index)).Class(s.last)
	}
	return (&bucket{s, index}).Class(s.last)
}

// charge counts the memory of a key that is kept, or no longer.
func (s *shard) charge(key string, times int64) {
	if s.config.Names {
		s.table.Charge(times * int64(len(key)))
	}
}

// lose is forget for an eviction, whose key Cells.Evicted returns.
func (s *shard) lose(index uint32) {
	if w := s.owner.watched; w != nil && w() {
		s.owner.lose(Ref{s, index}.Key())
	}
	s.forget(index)
}

// forget drops the data beside the cell of a key that is evicted.
func (s *shard) forget(index uint32) {
	if s.config.Names {
		s.charge(*s.names.At(index), -1)
	}
	if s.sides != nil {
		Ref{s, index}.SetSide(nil)
	}
}

// evict removes the key that the table says, and returns false when all its cells are
// held.
func (s *shard) evict() bool {
	victim := s.table.Victim()
	if victim == keyed.Spare {
		return false
	}
	s.lose(victim)
	gone, last, _ := s.table.Evict()
	s.drop(gone, last)
	return true
}

// drop removes the state of an index that the table removed, and moves the state of the last
// index there.
func (s *shard) drop(gone, last uint32) {
	switch {
	case s.config.Bucket == nil:
		s.cells.Remove(gone, last)
	case s.rests:
		s.buckets.Remove(gone, last)
	}
	if s.config.Names {
		s.names.Remove(gone, last)
	}
	s.owner.keys.Add(-1)
}

// trim evicts keys while the shard is above its bound of bytes, or there are more
// keys than the step may have. Where new keys share a cell, none loses its own.
func (s *shard) trim() {
	if s.config.WhenFull == keyed.FullShare {
		return
	}
	for (s.table.Above() || s.owner.keys.Load() > s.owner.limit.Load()) && s.evict() {
	}
}

// note notes whether a cell is held, and until when it blocks.
func (s *shard) note(index uint32) {
	s.table.Note(index, (*s.cells.At(index)).Held(), s.blocks)
}

func (s *shard) fresh(index uint32, now clock.Mark) bool {
	if s.config.Bucket == nil {
		return cell.Fresh(*s.cells.At(index), now)
	}
	return clock.Mark(*s.table.Word(index)) <= max(now, s.last)
}

// rest is what a token bucket has beside its TAT after a refund or a reset. It is
// zero before.
type rest struct{ refunded, voided uint64 }

// bare returns the state of a token bucket.
func (s *shard) bare(index uint32) limiter.Bare {
	b := limiter.Bare{TAT: clock.Mark(*s.table.Word(index)), Generation: 1}
	if s.rests {
		r := s.buckets.At(index)
		b.Refunded, b.Generation = r.refunded, 1+r.voided
	}
	return b
}

// bucket returns the whole state of a token bucket. The mark of its last change is the mark of
// the shard, so that no mark goes back.
func (s *shard) bucket(index uint32) limiter.State { return s.bare(index).At(s.last) }

func (s *shard) setBucket(index uint32, state *limiter.State) {
	b := state.Bare()
	s.last = max(s.last, state.Last)
	*s.table.Word(index) = uint64(b.TAT)
	r := rest{b.Refunded, b.Generation - 1}
	if !s.rests && r != (rest{}) {
		s.rests = true
		s.buckets.Grow(s.table.Len())
	}
	if s.rests {
		*s.buckets.At(index) = r
	}
}
