package keyed

// Hash is the hash of a key: 128 bits, uniformly distributed, made with a seed
// that whoever chooses the keys does not know. Keys of one hash are one key.
type Hash struct{ Hi, Lo uint64 }

// Handle names the cell that a key has, until the key is evicted or removed. The
// zero value names none.
type Handle struct {
	Hash       Hash
	Generation uint64
	Index      uint32
}

// Use says how a key came to its cell.
type Use uint8

const (
	// Known: the key has had the cell.
	Known Use = iota
	// Added: the cell has an index of its own, which is the last.
	Added
	// Evicted: the cell has the index of another key, which gave it up. The
	// holder still has that key's cell there, to put the new one in its place.
	Evicted
	// Shared: the cell is the spare one.
	Shared
)

// Spare is the index of the cell that new keys share when the table is full.
const Spare = 0

// Table says which cell each key has. Make one by New.
type Table struct {
	config  Config
	keys    uint32
	entries Slab[entry]

	directory []*segment // by the first bits of a hash
	depth     uint8      // how many bits
	deepest   int        // segments of that depth
	segments  int

	oldest, newest uint32 // of the entries in the list
	touched        [batch]uint32
	touches        uint32 // of touched, not yet in the list
	aside          heap   // those outside the list that are not held
	ranks          uint64

	births    uint64
	held      uint32
	evictions uint64
	shared    uint64
	charged   int64
}

// entry is what a table knows about a key.
type entry struct {
	hash       Hash
	generation uint64 // never 0; no other entry of the table had it before
	// The neighbours in the list by last use; of an entry outside the list they
	// are the halves of its rank.
	older, newer uint32
	holds        uint32 // pins, and markedHeld
	place        uint32 // listed, setAside, or the place in the heap
}

const (
	entryBytes = 40
	// slotBytes of a key, at most: segments are just split.
	slotBytes = 10
	// markedHeld is the bit of SetHeld.
	markedHeld = 1 << 31
)

// New returns an empty table.
func New(c Config) (*Table, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	t := &Table{config: c, directory: []*segment{{}}, segments: 1, deepest: 1, births: 1}
	t.entries.Grow(Spare)
	t.entries.At(Spare).generation = t.births
	return t, nil
}

// Configure puts other bounds in force. Call Trim afterwards.
func (t *Table) Configure(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	t.config = c
	return nil
}

// Use returns the index of the key's cell and makes the key the most recently
// used. It gives a cell to a new key. Every acquire is a use, also when it is
// refused.
func (t *Table) Use(h Hash) (index uint32, how Use) {
	if index = t.find(h); index != 0 {
		t.Touch(index)
		return index, Known
	}
	return t.Add(h, t.Room())
}

// Find returns the index of the key's cell without using it. A key without one
// has none, or shares the spare cell.
func (t *Table) Find(h Hash) (index uint32, ok bool) {
	index = t.find(h)
	return index, index != 0
}

// Touch makes the key of an index the most recently used.
func (t *Table) Touch(index uint32) {
	if t.touches == batch {
		t.settle()
	}
	t.touched[t.touches] = index
	t.touches++
}

// Room reports whether a new key gets a cell at no other key's cost.
func (t *Table) Room() bool {
	return t.keys < t.config.Keys && (t.config.Bytes == 0 || t.counted()+t.each() <= t.config.Bytes)
}

// Add is Use for a key that Find does not find. The holder says whether there is
// room for one more: of several tables that share a bound it knows alone.
func (t *Table) Add(h Hash, room bool) (index uint32, how Use) {
	t.settle()
	if room {
		t.keys++
		index, how = t.keys, Added
		t.entries.Grow(index)
	} else {
		if t.config.WhenFull == FullEvict {
			index, how = t.coldest(), Evicted
		}
		if index == Spare {
			t.shared++
			return Spare, Shared
		}
		t.takeOut(index)
		t.erase(index)
		t.evictions++
	}
	t.births++
	*t.entries.At(index) = entry{hash: h, generation: t.births}
	t.insert(h, index)
	t.link(index)
	return index, how
}

// Evictable reports whether there is a key whose cell is not held.
func (t *Table) Evictable() bool { return t.coldest() != 0 }

// Evict removes the least recently used key whose cell is not held: the cell at
// gone. The holder moves the cell at last, which may be the same, to gone, as
// after Remove. False when all cells are held.
func (t *Table) Evict() (gone, last uint32, ok bool) {
	if gone = t.coldest(); gone == 0 {
		return 0, 0, false
	}
	t.evictions++
	return gone, t.Remove(gone), true
}

// Trim is Evict while the table is above its bounds, which it is after they were
// lowered and after Charge. Call it until it returns false, and again when cells
// are released while Len is above Keys. A table keeps one key whatever its bound
// of bytes.
func (t *Table) Trim() (gone, last uint32, ok bool) {
	if t.keys <= t.config.Keys && (t.keys <= 1 || t.config.Bytes == 0 || t.counted() <= t.config.Bytes) {
		return 0, 0, false
	}
	return t.Evict()
}

// Remove takes the key of an index out of the table. The key with the last index
// has its index then: the holder moves the cell at last to index.
func (t *Table) Remove(index uint32) (last uint32) {
	t.settle()
	t.takeOut(index)
	t.erase(index)
	if t.entries.At(index).holds != 0 {
		t.held--
	}
	last = t.keys
	if index != last {
		t.rename(last, index)
	}
	t.entries.Remove(index, last)
	t.keys--
	return last
}

// rename changes the index that others have of an entry.
func (t *Table) rename(from, to uint32) {
	s, j := t.locate(from)
	s.slots[j] = slot(t.entries.At(from).hash, to)
	switch e := t.entries.At(from); e.place {
	case listed:
		*t.newerOf(e.older), *t.olderOf(e.newer) = to, to
	case setAside:
	default:
		t.aside[e.place-inHeap] = to
	}
}

// Pin holds the cell of an index until Unpin was called as often as Pin. A
// holder pins a cell while a caller waits there or has something that must not
// be evicted. The spare cell is never evicted.
func (t *Table) Pin(index uint32) { t.hold(index, t.entries.At(index).holds+1) }

// Unpin undoes a Pin.
func (t *Table) Unpin(index uint32) { t.hold(index, t.entries.At(index).holds-1) }

// SetHeld holds the cell of an index, or not any more, beside its pins. It is for
// holders that ask the cell after each step.
func (t *Table) SetHeld(index uint32, held bool) {
	holds := t.entries.At(index).holds &^ markedHeld
	if held {
		holds |= markedHeld
	}
	t.hold(index, holds)
}

func (t *Table) hold(index, holds uint32) {
	e := t.entries.At(index)
	before := e.holds
	e.holds = holds
	if index == Spare || (before == 0) == (holds == 0) {
		return
	}
	if holds != 0 {
		t.held++
		if e.place >= inHeap {
			t.leave(e)
		}
		return
	}
	t.held--
	if e.place == setAside {
		t.join(index)
	}
}

// Held reports whether the cell of an index is held.
func (t *Table) Held(index uint32) bool { return t.entries.At(index).holds != 0 }

// Handle returns the name of the cell of an index.
func (t *Table) Handle(index uint32) Handle {
	e := t.entries.At(index)
	return Handle{Hash: e.hash, Generation: e.generation, Index: index}
}

// Resolve returns the index of the cell that a handle names, and false for one
// whose key was evicted or removed: what names it does nothing.
func (t *Table) Resolve(h Handle) (index uint32, ok bool) {
	if h.Index <= t.keys && t.entries.At(h.Index).generation == h.Generation {
		return h.Index, true
	}
	// It may have moved.
	index = t.find(h.Hash)
	return index, index != 0 && t.entries.At(index).generation == h.Generation
}

// Hash returns the hash of the key of an index.
func (t *Table) Hash(index uint32) Hash { return t.entries.At(index).hash }

// Len returns how many keys have a cell of their own. Their indices are 1 to
// Len; Add appends, and Remove moves the last.
func (t *Table) Len() uint32 { return t.keys }

// Charge counts memory that a cell takes or gives back beside CellBytes.
func (t *Table) Charge(bytes int64) { t.charged += bytes }

// Counts returns what the table has and has done.
func (t *Table) Counts() Counts {
	entries := uint64(len(t.entries.pages)) * pageSize * (entryBytes + uint64(t.config.CellBytes))
	table := uint64(t.segments)*segmentBytes + uint64(len(t.directory))*8 + uint64(cap(t.aside))*4
	return Counts{
		Keys: t.keys, Held: t.held, Evictions: t.evictions, Shared: t.shared,
		Bytes: entries + table + uint64(t.charged),
	}
}

// each returns the memory for a key.
func (t *Table) each() uint64 { return entryBytes + slotBytes + uint64(t.config.CellBytes) }

// counted returns the memory for the keys that there are.
func (t *Table) counted() uint64 { return uint64(t.keys)*t.each() + uint64(t.charged) }
