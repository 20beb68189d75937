package keyed

// Numbers is a Table for keys that are numbers from a host that gives the least ones
// first, and gives them again: it finds a key by its number, without a hash. Make one
// by NewNumbers.
type Numbers struct {
	pages []*numbersPage // by the upper bits of a number, nil where it has no keys
	order
	used int // of pages
}

// numbersPage has the indices of the keys with the same upper bits.
type numbersPage struct {
	used    uint32 // of indices
	indices [pageSize]uint32
}

const numbersPageBytes = 4 + 4*pageSize

// NewNumbers returns an empty table.
func NewNumbers(c Config) (*Numbers, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Numbers{order: newOrder(c)}, nil
}

// Use uses a key as Table.Use does.
func (t *Numbers) Use(key uint32) (index uint32, how Use) {
	if index, known := t.Find(key); known {
		t.Touch(index)
		return index, Known
	}
	h := Hash{Lo: uint64(key)}
	if index, how = t.place(h, t.Room()); how == Evicted {
		t.erase(t.key(index))
		t.replace(index, h)
	}
	if how != Shared {
		*t.slot(key) = index
	}
	return index, how
}

// Find finds a key as Table.Find does.
func (t *Numbers) Find(key uint32) (index uint32, ok bool) {
	if int(key>>pageBits) < len(t.pages) {
		if page := t.pages[key>>pageBits]; page != nil {
			index = page.indices[key%pageSize]
		}
	}
	return index, index != 0
}

// Trim evicts as Table.Trim does.
func (t *Numbers) Trim() (gone, last uint32, ok bool) {
	if !t.Above() {
		return 0, 0, false
	}
	if gone = t.Victim(); gone == 0 {
		return 0, 0, false
	}
	t.evictions++
	return gone, t.Remove(gone), true
}

// Remove removes a key as Table.Remove does.
func (t *Numbers) Remove(index uint32) (last uint32) {
	t.erase(t.key(index))
	if last = t.keys; index != last {
		key := t.key(last)
		t.pages[key>>pageBits].indices[key%pageSize] = index
	}
	t.remove(index)
	return last
}

// Counts returns what Table.Counts returns.
func (t *Numbers) Counts() Counts {
	return t.counts(uint64(t.used)*numbersPageBytes + uint64(len(t.pages))*8)
}

// key returns the number of the key of an index.
func (t *Numbers) key(index uint32) uint32 { return uint32(t.Hash(index).Lo) }

// slot returns where the index of a new key is put.
func (t *Numbers) slot(key uint32) *uint32 {
	for int(key>>pageBits) >= len(t.pages) {
		t.pages = append(t.pages, nil)
	}
	page := t.pages[key>>pageBits]
	if page == nil {
		page = &numbersPage{}
		t.pages[key>>pageBits] = page
		t.used++
	}
	page.used++
	return &page.indices[key%pageSize]
}

// erase removes the index of a key.
func (t *Numbers) erase(key uint32) {
	page := t.pages[key>>pageBits]
	page.indices[key%pageSize] = 0
	if page.used--; page.used == 0 {
		t.pages[key>>pageBits] = nil
		t.used--
	}
}
