package keyed

import (
	"cmp"
	"slices"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// The order of last use is a list of all entries, but for those that were at its
// oldest end when a victim was looked for: they are set aside with a rank, so that each
// is classed once for each use. All of them are older than the list, and ordered by
// rank. Those that are not held are in a heap, by class and rank; of those whose class
// time changes, the mark is in a heap of alarms. So a victim costs the logarithm of the
// keys, however long ago they were used.

// Places of an entry. The list is long enough that the links of an entry wrap
// around only when it was not used for 2^31 links of other keys.
const (
	setAside = 0       // and held
	inHeap   = 1       // at place - inHeap in the heap
	listed   = 1 << 31 // with the number of its link, modulo 2^31
)

// The weight of an entry outside the list is its class above its rank.
const (
	rankBits = 30
	maxRank  = 1<<rankBits - 1
)

func (e *entry) inList() bool { return e.place >= listed }

// rank returns the rank of an entry outside the list, weight the same below its class.
func (e *entry) rank() uint32         { return e.older & maxRank }
func (e *entry) weight() uint32       { return e.older }
func (e *entry) class() reducer.Class { return reducer.Class(e.older >> rankBits) }

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
		t.leave(index)
	default:
		t.outside--
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

// Coldest returns the index of a key whose cell is not held, 0 for none: the least
// recently used one of the list, or the next victim where keys are set aside. It is for
// holders that look for a cell to use again.
func (t *order) Coldest() uint32 {
	t.settle()
	if len(t.aside) > 0 {
		t.reclass()
		return t.aside[0]
	}
	for t.oldest != 0 && t.entries.At(t.oldest).holds != 0 {
		t.pass()
	}
	return t.oldest
}

// Victim returns the index of the key that is evicted next, 0 where all cells are held. A
// key is old enough when at least half of the others were used after it, or when it was
// passed over before and not used since. Of those one of the least class goes. Where none
// is old enough, or each of them has a running block, the least recently used one of the
// others goes that has none.
func (t *order) Victim() uint32 {
	t.settle()
	for safe := t.safe(); t.keys-t.outside > safe; {
		t.pass()
	}
	t.reclass()
	for t.oldest != 0 && (len(t.aside) == 0 || t.entries.At(t.aside[0]).class() == reducer.Blocked) {
		t.pass()
	}
	if len(t.aside) == 0 {
		return 0
	}
	return t.aside[0]
}

// safe returns how many of the most recently used keys are not old enough: with the new
// key, fewer than half of the keys were used after them, also where the place in the list
// is older than the last use.
func (t *order) safe() uint32 {
	return min(t.keys, (t.keys+1)/2+t.slack()-1)
}

// slack returns how many keys the place of a key in the list may be behind its last use.
func (t *order) slack() uint32 {
	if !t.loose {
		return 0
	}
	return (t.keys - t.held) / 4
}

// pass sets the oldest entry of the list aside.
func (t *order) pass() {
	index := t.oldest
	e := t.entries.At(index)
	*t.newerOf(e.older), *t.olderOf(e.newer) = e.newer, e.older
	if t.ranks == maxRank {
		t.renumber()
	}
	t.ranks++
	t.outside++
	e.older, e.newer, e.place = t.ranks, 0, setAside
	if e.holds == 0 {
		t.join(index)
	}
}

// renumber gives the entries outside the list the least ranks, in their order.
func (t *order) renumber() {
	t.ranks = 0
	for _, index := range t.asideByUse(nil) {
		t.ranks++
		e := t.entries.At(index)
		e.older = e.older&^maxRank | t.ranks
	}
}

// reclass classes the entries again whose class time has changed.
func (t *order) reclass() {
	if t.holder == nil {
		return
	}
	now := t.holder.Now()
	for {
		index, ok := t.changes.due(now)
		if !ok {
			return
		}
		t.class(index)
	}
}

// class asks for the class of an entry in the heap, and moves it to its place.
func (t *order) class(index uint32) {
	e, class, until := t.entries.At(index), reducer.InUse, clock.Never
	if t.holder != nil {
		class, until = t.holder.Class(index)
	}
	e.older = uint32(class)<<rankBits | e.rank()
	at := int(e.place - inHeap)
	t.rise(t.sink(at, index), index)
	if until == clock.Never {
		t.dropAlarm(&t.changes, index)
	} else {
		t.setAlarm(&t.changes, index, until)
	}
}

// Stepped says that the cell of an index was stepped without a use of its key.
func (t *order) Stepped(index uint32) {
	if t.outside > 0 {
		t.stepped(index)
	}
}

func (t *order) stepped(index uint32) {
	if e := t.entries.At(index); !e.inList() && e.place >= inHeap {
		t.class(index)
	}
}

// ByUse appends the indices of all keys to dst, the least recently used first. A
// holder that puts them into another table in this order keeps the order.
func (t *order) ByUse(dst []uint32) []uint32 {
	t.settle()
	dst = t.asideByUse(dst)
	for i := t.oldest; i != 0; i = t.entries.At(i).newer {
		dst = append(dst, i)
	}
	return dst
}

// asideByUse is ByUse of the entries outside the list.
func (t *order) asideByUse(dst []uint32) []uint32 {
	from := len(dst)
	for i := uint32(1); i <= t.keys && t.outside > 0; i++ {
		if !t.entries.At(i).inList() {
			dst = append(dst, i)
		}
	}
	slices.SortFunc(dst[from:], func(a, b uint32) int {
		return cmp.Compare(t.entries.At(a).rank(), t.entries.At(b).rank())
	})
	return dst
}

// heap has the entry with the least weight first. Its entries know their places.
type heap []uint32

// join puts an entry outside the list into the heap.
func (t *order) join(index uint32) {
	t.aside = append(t.aside, index)
	t.entries.At(index).place = uint32(len(t.aside)-1) + inHeap
	t.class(index)
}

// leave takes an entry out of the heap and of those set aside.
func (t *order) leave(index uint32) {
	t.hide(index)
	t.outside--
}

// hide takes an entry out of the heap; it stays set aside.
func (t *order) hide(index uint32) {
	t.dropAlarm(&t.changes, index)
	e := t.entries.At(index)
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
		if t.entries.At(t.aside[up]).weight() < t.entries.At(index).weight() {
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
		if right := down + 1; right < len(t.aside) && t.entries.At(t.aside[right]).weight() < t.entries.At(t.aside[down]).weight() {
			down = right
		}
		if t.entries.At(index).weight() < t.entries.At(t.aside[down]).weight() {
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
