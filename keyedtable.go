package sluice

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/sluice-go/sluice/clock"
)

// hash of a key: 128 bits from two seeds, so that nobody can make two keys meet.
type hash struct{ low, high uint64 }

// entry is a token bucket in a table: 24 bytes, no pointers.
type entry struct {
	hash
	tat clock.Mark
}

func (e *entry) used() bool { return e.high != 0 }

// shard is a table of token buckets: open addressing, linear probing. An entry
// whose bucket is full stands for nothing, but keeps others findable.
type shard struct {
	mu    sync.Mutex
	slots []entry
	n     int        // used slots
	last  clock.Mark // before which nothing happens any more
	next  clock.Mark // before which no bucket is full
	_     [8]byte    // shards do not share a cache line
}

const (
	// leastSlots of a table with any.
	leastSlots = 8
	// A table grows by half when seven eighths are used: 27 to 41 bytes a key.
	mostUsed, ofSlots = 7, 8
)

// pass lets time pass. A mark before the last one counts as that, as keys that
// were full then are forgotten.
func (s *shard) pass(now clock.Mark) clock.Mark {
	s.last = max(s.last, now)
	return s.last
}

// find returns the slot of a key that has not all its permits. For another key
// it returns the slot where it may be put: that of a full bucket or one that was
// never used; -1 without any slots.
func (s *shard) find(h hash, now clock.Mark) (at int, found bool) {
	if len(s.slots) == 0 {
		return -1, false
	}
	free := -1
	for i := s.home(h); ; i = s.after(i) {
		e := &s.slots[i]
		switch {
		case !e.used():
			if free < 0 {
				free = i
			}
			return free, false
		case e.tat <= now:
			if free < 0 {
				free = i
			}
		case e.hash == h:
			return i, true
		}
	}
}

// home returns the slot at which the search for a key begins.
func (s *shard) home(h hash) int {
	high, _ := bits.Mul64(h.low, uint64(len(s.slots)))
	return int(high)
}

func (s *shard) after(i int) int {
	if i++; i < len(s.slots) {
		return i
	}
	return 0
}

// room makes room for one more key and returns its slot, which is at as long as
// the table stays as it is.
func (s *shard) room(h hash, at int, now clock.Mark, used *atomic.Int64) int {
	s.n++
	if s.n*ofSlots <= len(s.slots)*mostUsed {
		return at
	}
	if s.next <= now {
		used.Add(-int64(s.sweep(now)))
	}
	// Nearly as many again before the next sweep.
	if s.n*4 > len(s.slots)*3 {
		s.grow(now)
	}
	at, _ = s.find(h, now)
	return at
}

func (s *shard) grow(now clock.Mark) {
	old := s.slots
	s.slots = make([]entry, max(leastSlots, len(old)+len(old)/2))
	for i := range old {
		if e := &old[i]; e.used() {
			at, _ := s.find(e.hash, clock.Always)
			s.slots[at] = *e
		}
	}
}

// sweep removes the keys that have all their permits, and returns how many.
func (s *shard) sweep(now clock.Mark) (freed int) {
	s.next = clock.Never
	for i := 0; i < len(s.slots); {
		e := &s.slots[i]
		switch {
		case e.used() && e.tat <= now:
			s.remove(i)
			freed++
			continue // with what moved here
		case e.used():
			s.next = min(s.next, e.tat)
		}
		i++
	}
	s.n -= freed
	return freed
}

// remove empties a slot and moves up those behind it which it kept away from
// their home.
func (s *shard) remove(i int) {
	for j := s.after(i); s.slots[j].used(); j = s.after(j) {
		home := s.home(s.slots[j].hash)
		// Between i and j, around the end: it stands as near as it can.
		if between(i, home, j) {
			continue
		}
		s.slots[i] = s.slots[j]
		i = j
	}
	s.slots[i] = entry{}
}

// between reports whether home lies behind i and not behind j in a ring.
func between(i, home, j int) bool {
	if i <= j {
		return i < home && home <= j
	}
	return i < home || home <= j
}

// count returns how many keys do not have all their permits.
func (s *shard) count(now clock.Mark) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.pass(now)
	for i := range s.slots {
		if e := &s.slots[i]; e.used() && e.tat > now {
			n++
		}
	}
	return n
}
