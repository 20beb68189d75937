package keyed

// Hash is the hash of a key: 128 bits, uniformly distributed, made with a seed
// that a client which chooses the keys does not know. Keys of one hash are one key.
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
	// Evicted: the cell has the index of another key, which was evicted. The holder
	// still has that key's cell there, to put the new one in its place.
	Evicted
	// Shared: the cell is the spare one.
	Shared
)

// Spare is the index of the cell that new keys share when the table is full.
const Spare = 0

// Table says which cell each key has, by the hash of the key. Make one by New. What a
// lookup needs comes first, in one line of a cache.
type Table struct {
	directory []*segment // by the first bits of a hash
	depth     uint8      // how many bits
	order
	deepest  int // segments of the greatest depth
	segments int
}

// order has the keys of a table in the order of their last use, and their bounds. What a
// use of a known key reads comes first.
type order struct {
	entries Slab[entry]
	keys    uint32
	held    uint32
	links   uint32 // of entries into the list so far, which wraps around
	outside uint32 // entries that are not in the list
	loose   bool   // Config.Loose

	touched        [batch]uint32
	touches        uint32 // of touched, not yet in the list
	oldest, newest uint32 // of the entries in the list
	aside          heap   // those outside the list that are not held
	changes        alarms // of their classes
	ranks          uint32
	blockRoom      uint32 // see blockPlaces

	blocks      alarms       // the ends of running blocks
	blockPlaces Slab[uint32] // of the indices up to blockRoom

	config Config
	holder Holder

	births    uint64
	evictions uint64
	shared    uint64
	unblocked uint64
	charged   int64
}

// entry is what a table knows about a key. What a lookup needs comes first: most
// entries then cost it one line of a cache.
type entry struct {
	hash  Hash
	word  uint64 // the holder's
	place uint32 // in the list, set aside or in the heap
	holds uint32 // pins, and markedHeld

	generation uint64 // never 0; no other cell of the hash had it before
	// The neighbours in the list by last use; of an entry outside the list, its weight,
	// and its place among the changes.
	older, newer uint32
}

const (
	entryBytes = 48
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
	return &Table{order: newOrder(c), directory: []*segment{{}}, segments: 1, deepest: 1}, nil
}

func newOrder(c Config) order {
	t := order{config: c, loose: c.Loose, births: 1}
	t.entries.Grow(Spare)
	t.entries.At(Spare).generation = t.births
	return t
}

// Configure replaces the bounds. Call Trim afterwards.
func (t *order) Configure(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	t.config, t.loose = c, c.Loose
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
func (t *order) Touch(index uint32) {
	if t.touches == batch {
		t.settle()
	}
	t.touched[t.touches] = index
	t.touches++
}

// Refresh is Find and Touch. In a loose table a key stays where it is while it is among
// the most recent quarter of the entries that are not held: the order is then the order of uses up
// to a quarter of all keys earlier.
func (t *Table) Refresh(h Hash) (index uint32, ok bool) {
	index = t.find(h)
	if index == 0 {
		return 0, false
	}
	e := t.entries.At(index)
	if since := (t.links - e.place) &^ listed; !e.inList() || since >= t.slack() {
		t.Touch(index)
	}
	return index, true
}

// Room reports whether a new key gets a cell without an eviction.
func (t *order) Room() bool {
	return t.keys < t.config.Keys && (t.config.Bytes == 0 || t.counted()+t.each() <= t.config.Bytes)
}

// Add is Use for a key that Find does not find. The holder says whether there is room
// for one more: only the holder knows it for several tables that share a bound.
func (t *Table) Add(h Hash, room bool) (index uint32, how Use) {
	if index, how = t.place(h, room); how == Added {
		t.insert(h, index)
	} else if how == Evicted {
		t.Replace(index, h)
	}
	return index, how
}

// place finds the index for a new key: one behind the others, where there is room
// for the key, else the entry of the key to be replaced, or the spare one.
func (t *order) place(h Hash, room bool) (index uint32, how Use) {
	if room {
		t.births++
		return t.put(entry{hash: h, generation: t.births}), Added
	}
	if t.config.WhenFull == FullEvict {
		index = t.Victim()
	}
	if index == Spare {
		t.shared++
		return Spare, Shared
	}
	t.evictions++
	return index, Evicted
}

// put adds an entry at the end, as the most recently used.
func (t *order) put(e entry) uint32 {
	t.settle()
	t.keys++
	t.entries.Grow(t.keys)
	*t.entries.At(t.keys) = e
	t.link(t.keys)
	return t.keys
}

// Replace gives the cell that Coldest or Victim has just returned to a new key, and counts
// no eviction: a holder does so where the cell is as good as a new one.
func (t *Table) Replace(index uint32, h Hash) {
	t.erase(index)
	t.replace(index, h)
	t.insert(h, index)
}

// replace gives the entry of a key, which is in the order, to another key.
func (t *order) replace(index uint32, h Hash) {
	t.takeOut(index)
	if t.AnyBlock() {
		t.dropAlarm(&t.blocks, index)
	}
	t.births++
	*t.entries.At(index) = entry{hash: h, generation: t.births}
	t.link(index)
}

// Import adds the key that another table has at an index, as the most recently
// used. The key keeps its handles, word, pins and mark. It must not be in the table.
func (t *Table) Import(from *Table, index uint32) uint32 {
	e := *from.entries.At(index)
	if e.holds != 0 {
		t.held++
	}
	t.births = max(t.births, from.births)
	index = t.put(entry{hash: e.hash, word: e.word, generation: e.generation, holds: e.holds})
	t.insert(e.hash, index)
	return index
}

// Evict removes the key that Victim returns: the cell at gone. The holder moves the cell at last, which may be the same, to gone, as
// after Remove. False when all cells are held.
func (t *Table) Evict() (gone, last uint32, ok bool) {
	if gone = t.Victim(); gone == 0 {
		return 0, 0, false
	}
	t.evictions++
	return gone, t.Remove(gone), true
}

// Above reports whether the table is above its bounds, which it is after they
// were lowered and after Charge. A table keeps one key whatever its bound of
// bytes.
func (t *order) Above() bool {
	return t.keys > t.config.Keys || t.keys > 1 && t.config.Bytes != 0 && t.counted() > t.config.Bytes
}

// Trim is Evict while the table is above its bounds. Call it until it returns
// false, and again when cells are released while Len is above Keys.
func (t *Table) Trim() (gone, last uint32, ok bool) {
	if !t.Above() {
		return 0, 0, false
	}
	return t.Evict()
}

// Remove takes the key of an index out of the table. The key with the last index
// has its index then: the holder moves the cell at last to index.
func (t *Table) Remove(index uint32) (last uint32) {
	t.erase(index)
	if last = t.keys; index != last {
		s, j := t.locate(last)
		s.slots[j] = slot(t.entries.At(last).hash, index)
	}
	t.remove(index)
	return last
}

// remove takes the entry of an index out, and moves the last one there.
func (t *order) remove(index uint32) {
	t.settle()
	t.takeOut(index)
	if t.AnyBlock() {
		t.dropAlarm(&t.blocks, index)
	}
	if t.entries.At(index).holds != 0 {
		t.held--
	}
	last := t.keys
	if index != last {
		t.rename(last, index)
	}
	t.entries.Remove(index, last)
	t.keys--
	t.shrinkBlocks()
}

// rename changes the index that the neighbours of an entry have of it.
func (t *order) rename(from, to uint32) {
	switch e := t.entries.At(from); {
	case e.inList():
		*t.newerOf(e.older), *t.olderOf(e.newer) = to, to
	case e.place >= inHeap:
		t.aside[e.place-inHeap] = to
		if e.newer != 0 {
			*t.changes.indices.At(e.newer - 1) = to // the place moves with the entry
		}
	}
	t.renameAlarm(&t.blocks, from, to)
}

// Pin holds the cell of an index until Unpin was called as often as Pin. A
// holder pins a cell while a caller waits there or has something that must not
// be evicted. The spare cell is never evicted.
func (t *order) Pin(index uint32) { t.hold(index, t.entries.At(index).holds+1) }

// Unpin undoes a Pin.
func (t *order) Unpin(index uint32) { t.hold(index, t.entries.At(index).holds-1) }

// SetHeld holds the cell of an index, or not any more, beside its pins. It is for
// holders that ask the cell after each step, and is Stepped as well.
func (t *order) SetHeld(index uint32, held bool) {
	holds := t.entries.At(index).holds &^ markedHeld
	if held {
		holds |= markedHeld
	}
	t.hold(index, holds)
	t.Stepped(index)
}

func (t *order) hold(index, holds uint32) {
	e := t.entries.At(index)
	before := e.holds
	e.holds = holds
	if index == Spare || (before == 0) == (holds == 0) {
		return
	}
	if holds != 0 {
		t.held++
		if e.place >= inHeap && !e.inList() {
			t.hide(index)
		}
		return
	}
	t.held--
	if e.place == setAside {
		t.join(index)
	}
}

// Held reports whether the cell of an index is held.
func (t *order) Held(index uint32) bool { return t.entries.At(index).holds != 0 }

// Word returns eight bytes that the holder may use for the state of the cell of
// an index. They are 0 for a new cell, move with it, and cost no further line of
// a cache. The pointer is good until the table changes.
func (t *order) Word(index uint32) *uint64 { return &t.entries.At(index).word }

// Handle returns the name of the cell of an index.
func (t *Table) Handle(index uint32) Handle {
	e := t.entries.At(index)
	return Handle{Hash: e.hash, Generation: e.generation, Index: index}
}

// Resolve returns the index of the cell that a handle names, and false for one
// whose key was evicted or removed: what names it does nothing.
func (t *Table) Resolve(h Handle) (index uint32, ok bool) {
	if h.Index <= t.keys {
		if e := t.entries.At(h.Index); e.generation == h.Generation && e.hash == h.Hash {
			return h.Index, true
		}
	}
	// It may have moved.
	index = t.find(h.Hash)
	return index, index != 0 && t.entries.At(index).generation == h.Generation
}

// Hash returns the hash of the key of an index.
func (t *order) Hash(index uint32) Hash { return t.entries.At(index).hash }

// Len returns how many keys have a cell of their own. Their indices are 1 to
// Len; Add appends, and Remove moves the last.
func (t *order) Len() uint32 { return t.keys }

// Charge counts memory that a cell takes or releases beside CellBytes.
func (t *order) Charge(bytes int64) { t.charged += bytes }

// Counts returns what the table has and has done.
func (t *Table) Counts() Counts {
	return t.counts(uint64(t.segments)*segmentBytes + uint64(len(t.directory))*8)
}

// counts returns the counts of a table whose index takes so many bytes.
func (t *order) counts(index uint64) Counts {
	entries := uint64(len(t.entries.pages)) * pageSize * (entryBytes + uint64(t.config.CellBytes))
	return Counts{
		Keys: t.keys, Held: t.held, Evictions: t.evictions, Shared: t.shared, Unblocked: t.unblocked,
		Bytes: entries + index + uint64(cap(t.aside))*4 + t.changes.bytes() + t.blocks.bytes() + uint64(len(t.blockPlaces.pages))*pageSize*4 + uint64(t.charged),
	}
}

// each returns the memory for a key.
func (t *order) each() uint64 { return entryBytes + slotBytes + uint64(t.config.CellBytes) }

// counted returns the memory for the keys that there are.
func (t *order) counted() uint64 { return uint64(t.keys)*t.each() + uint64(t.charged) }
