package keyed

import (
	"cmp"
	"slices"
)

// The order of last use is a list of all entries, but for those that were at its
// oldest end when a victim was looked for, and were held: they are set aside with a
// rank, so that each is skipped once. All of them are older than the list, and
// ordered by rank. Those that are not held any more are in a heap.

// Places of an entry. The list is long enough that the links of an entry wrap
// around only when it was not used for 2^31 links of other keys.
const (
	setAside = 0       // and held
	inHeap   = 1       // at place - inHeap in the heap
	listed   = 1 << 31 // with the number of its link, modulo 2^31
)

func (e *entry) inList() bool { return e.place >= listed }

// rank returns the rank of an entry outside the list.
func (e *entry) rank() uint64 { return uint64(e.older)<<32 | uint64(e.newer) }

// olderOf returns the link from an entry to the next older one, that of none to
// the newest entry; newerOf is the like.
func (t *order) olderOf(index uint32) *uint32 {
	if index == 0 {
		return &t.newest
	}
	return &t.entries.At(index).older
}

func (t *order) newerOf(index uint32) *uint32 {
	if index == 0 {
		return &t.oldest
	}
	return &t.entries.At(index).newer
}

// link puts an entry at the newest end of the list.
func (t *order) link(index uint32) {
	e := t.entries.At(index)
	t.links++
	e.older, e.newer, e.place = t.newest, 0, listed|t.links
	*t.newerOf(t.newest) = index
	t.newest = index
}

// takeOut takes an entry out of the order.
func (t *order) takeOut(index uint32) {
	switch e := t.entries.At(index); {
	case e.inList():
		*t.newerOf(e.older), *t.olderOf(e.newer) = e.newer, e.older
	case e.place >= inHeap:
		t.leave(e)
	}
}

// batch is how many uses are put into the list at once, so that the memory of
// their neighbours is read side by side: 5 ns a use instead of 20 with 100,000
// keys.
const batch = 16

// settle puts the uses since the last one into the list, in their order.
func (t *order) settle() {
	for _, index := range t.touched[:t.touches] {
		if index != t.newest && index != Spare {
			t.takeOut(index)
			t.link(index)
		}
	}
	t.touches = 0
}

// Coldest returns the index of the least recently used key whose cell is not
// held, 0 for none.
func (t *order) Coldest() uint32 {
	t.settle()
	if len(t.aside) > 0 {
		return t.aside[0]
	}
	for t.oldest != 0 {
		e := t.entries.At(t.oldest)
		if e.holds == 0 {
			break
		}
		t.takeOut(t.oldest)
		t.ranks++
		e.older, e.newer, e.place = uint32(t.ranks>>32), uint32(t.ranks), setAside
	}
	return t.oldest
}

// ByUse appends the indices of all keys to dst, the least recently used first. A
// holder that puts them into another table in this order keeps the order.
func (t *order) ByUse(dst []uint32) []uint32 {
	t.settle()
	from := len(dst)
	for i := uint32(1); i <= t.keys; i++ {
		if !t.entries.At(i).inList() {
			dst = append(dst, i)
		}
	}
	slices.SortFunc(dst[from:], func(a, b uint32) int {
		return cmp.Compare(t.entries.At(a).rank(), t.entries.At(b).rank())
	})
	for i := t.oldest; i != 0; i = t.entries.At(i).newer {
		dst = append(dst, i)
	}
	return dst
}

// heap has the entry with the least rank first. Its entries know their places.
type heap []uint32

// join puts an entry into the heap.
func (t *order) join(index uint32) {
	t.aside = append(t.aside, index)
	t.rise(len(t.aside)-1, index)
}

// leave takes an entry out of the heap; it stays outside the list.
func (t *order) leave(e *entry) {
	at, last := int(e.place-inHeap), len(t.aside)-1
	moved := t.aside[last]
	e.place = setAside
	if t.aside = t.aside[:last]; last == 0 && cap(t.aside) > pageSize {
		t.aside = nil
	}
	if at < last {
		t.rise(t.sink(at, moved), moved)
	}
}

// rise moves an entry up from a place.
func (t *order) rise(at int, index uint32) {
	for at > 0 {
		up := (at - 1) / 2
		if t.entries.At(t.aside[up]).rank() < t.entries.At(index).rank() {
			break
		}
		t.set(at, t.aside[up])
		at = up
	}
	t.set(at, index)
}

// sink moves the gap at a place down as far as an entry for it has to go, and
// returns where that is.
func (t *order) sink(at int, index uint32) int {
	for {
		down := 2*at + 1
		if down >= len(t.aside) {
			return at
		}
		if right := down + 1; right < len(t.aside) && t.entries.At(t.aside[right]).rank() < t.entries.At(t.aside[down]).rank() {
			down = right
		}
		if t.entries.At(index).rank() < t.entries.At(t.aside[down]).rank() {
			return at
		}
		t.set(at, t.aside[down])
		at = down
	}
}

func (t *order) set(at int, index uint32) {
	t.aside[at] = index
	t.entries.At(index).place = uint32(at) + inHeap
}
