package keyed

const (
	// A slot has the index of an entry and, above it, a tag: 8 bits of the hash.
	// It is 0 when it is empty, since no entry in the slots has the index 0.
	indexBits = 24
	indexMask = 1<<indexBits - 1

	// A segment takes 512 bytes where a pointer takes 8.
	segmentSlots = 124
	segmentBytes = 512
	// mostUsed slots of a segment keep linear probing short.
	mostUsed = segmentSlots * 7 / 8
	// Two segments merge when they have mergeUsed slots in use together, half of
	// which a merged one still has room for.
	mergeUsed = segmentSlots / 2
	// keysPerPointer bounds the directory, also when hashes are not uniform: a
	// uniform hash needs a pointer for about 40 keys.
	keysPerPointer = 16
)

// segment has the slots of all hashes that begin with the same depth bits: open
// addressing with linear probing. The next one has more of them, where the
// directory must not grow.
type segment struct {
	next  *segment
	used  uint16
	depth uint8
	slots [segmentSlots]uint32
}

// slot returns the content of the slot of an entry.
func slot(h Hash, index uint32) uint32 { return uint32(h.Lo>>56)<<indexBits | index }

// home returns the slot at which the search for a hash begins.
func home(h Hash) int { return int(h.Lo & (1<<32 - 1) * segmentSlots >> 32) }

func after(j int) int {
	if j++; j < segmentSlots {
		return j
	}
	return 0
}

// store puts a slot into a segment, or one behind it, that has room.
func (t *Table) store(s *segment, h Hash, slot uint32) {
	for s.used == mostUsed {
		if s.next == nil {
			s.next = &segment{depth: s.depth}
			t.segments++
		}
		s = s.next
	}
	j := home(h)
	for s.slots[j] != 0 {
		j = after(j)
	}
	s.slots[j] = slot
	s.used++
}

// first returns the first segment for a hash.
func (t *Table) first(h Hash) *segment { return t.directory[h.Hi>>(64-t.depth)] }

// find returns the index of a hash, 0 for none.
func (t *Table) find(h Hash) uint32 {
	tag := slot(h, 0)
	for s := t.first(h); s != nil; s = s.next {
		for j := home(h); s.slots[j] != 0; j = after(j) {
			if at := s.slots[j]; at&^indexMask == tag && t.entries.At(at&indexMask).hash == h {
				return at & indexMask
			}
		}
	}
	return 0
}

// locate returns the segment and the slot of an entry.
func (t *Table) locate(index uint32) (*segment, int) {
	h := t.entries.At(index).hash
	want := slot(h, index)
	for s := t.first(h); ; s = s.next {
		for j := home(h); s.slots[j] != 0; j = after(j) {
			if s.slots[j] == want {
				return s, j
			}
		}
	}
}

// insert adds the slot of an entry.
func (t *Table) insert(h Hash, index uint32) {
	for t.first(h).used == mostUsed && t.split(h) {
	}
	t.store(t.first(h), h, slot(h, index))
}

// split divides the segment of a hash in two by one more bit. False when the
// directory is long enough.
func (t *Table) split(h Hash) bool {
	s := t.first(h)
	if s.depth == t.depth {
		if 2*len(t.directory)*keysPerPointer > int(t.keys) {
			return false
		}
		t.double()
	}
	old := *s
	*s = segment{depth: old.depth + 1}
	twin := &segment{depth: s.depth}
	t.segments++
	// The pointers to a segment are adjacent.
	span := 1 << (t.depth - old.depth)
	from := int(h.Hi>>(64-t.depth)) &^ (span - 1)
	for i := from; i < from+span/2; i++ {
		t.directory[i] = s
	}
	for i := from + span/2; i < from+span; i++ {
		t.directory[i] = twin
	}
	if s.depth == t.depth {
		t.deepest += 2
	}
	for o := &old; o != nil; o = o.next {
		if o != &old {
			t.segments--
		}
		for _, at := range o.slots {
			if at != 0 {
				h := t.entries.At(at & indexMask).hash
				t.store(t.first(h), h, at)
			}
		}
	}
	return true
}

// double makes the directory twice as long.
func (t *Table) double() {
	next := make([]*segment, 2*len(t.directory))
	for i, s := range t.directory {
		next[2*i], next[2*i+1] = s, s
	}
	t.directory, t.depth, t.deepest = next, t.depth+1, 0
}

// erase removes the slot of an entry.
func (t *Table) erase(index uint32) {
	h := t.entries.At(index).hash
	s, i := t.locate(index)
	// Slots behind it move up, unless that would put them before their home.
	for j := after(i); s.slots[j] != 0; j = after(j) {
		home := home(t.entries.At(s.slots[j] & indexMask).hash)
		if i <= j && (i < home && home <= j) || i > j && (i < home || home <= j) {
			continue
		}
		s.slots[i] = s.slots[j]
		i = j
	}
	s.slots[i] = 0
	s.used--
	t.unchain(h)
	for t.merge(h) {
	}
}

// unchain drops the empty segments of a hash, but for the first.
func (t *Table) unchain(h Hash) {
	s := t.first(h)
	if s.used == 0 && s.next != nil {
		*s = *s.next
		t.segments--
	}
	for ; s.next != nil; s = s.next {
		if s.next.used == 0 {
			s.next = s.next.next
			t.segments--
			return
		}
	}
}

// merge joins the segment of a hash with the one that differs in the last bit.
func (t *Table) merge(h Hash) bool {
	s := t.first(h)
	if s.depth == 0 || s.used > mergeUsed {
		return false
	}
	span := 1 << (t.depth - s.depth)
	from := int(h.Hi>>(64-t.depth)) &^ (2*span - 1)
	s, twin := t.directory[from], t.directory[from+span]
	if s.depth != twin.depth || s.used+twin.used > mergeUsed || s.next != nil || twin.next != nil {
		return false
	}
	for i := from + span; i < from+2*span; i++ {
		t.directory[i] = s
	}
	if s.depth == t.depth {
		t.deepest -= 2
	}
	s.depth--
	t.segments--
	for _, at := range twin.slots {
		if at != 0 {
			t.store(s, t.entries.At(at&indexMask).hash, at)
		}
	}
	if t.depth > 0 && t.deepest == 0 {
		t.halve()
	}
	return true
}

// halve makes the directory half as long.
func (t *Table) halve() {
	next := make([]*segment, len(t.directory)/2)
	t.depth--
	for i := range next {
		next[i] = t.directory[2*i]
		if next[i].depth == t.depth {
			t.deepest++
		}
	}
	t.directory = next
}
