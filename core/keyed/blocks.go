package keyed

import (
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// Holder is what a table asks the holder of its cells when it looks for one to evict.
type Holder interface {
	// Now returns the present mark, which never goes back.
	Now() clock.Mark
	// Class returns the class of the cell at an index that is not held, and until when the
	// cell keeps it if nothing but time passes: at the mark or later time alone gives it
	// another one. clock.Never for a class that time does not change.
	Class(index uint32) (reducer.Class, clock.Mark)
}

// SetHolder sets the holder that the table asks. Without a holder all cells are of one class, and
// the least recently used one is evicted.
func (t *order) SetHolder(h Holder) { t.holder = h }

// alarms is a heap of marks, each with an index, the earliest first; of at most one for each
// index. The place of an index in the heap is where placeIn says.
type alarms struct {
	marks   Slab[clock.Mark]
	indices Slab[uint32]
	length  uint32
}

// placeIn returns where the place of an index and 1 is kept, 0 for none: for the changes of
// classes in the entry, which is then outside the list; nil where there is no room for one.
func (t *order) placeIn(a *alarms, index uint32) *uint32 {
	if a == &t.changes {
		return &t.entries.At(index).newer
	}
	if index > t.blockRoom {
		return nil
	}
	return t.blockPlaces.At(index)
}

// setAlarm sets the mark of an index.
func (t *order) setAlarm(a *alarms, index uint32, at clock.Mark) {
	place := t.placeIn(a, index)
	if place == nil {
		t.blockPlaces.Grow(index)
		t.blockRoom = index
		place = t.blockPlaces.At(index)
	}
	if *place != 0 {
		t.moveAlarm(a, *place-1, index, at)
		return
	}
	a.marks.Grow(a.length)
	a.indices.Grow(a.length)
	a.length++
	t.riseAlarm(a, a.length-1, index, at)
}

// dropAlarm removes the mark of an index, if there is one.
func (t *order) dropAlarm(a *alarms, index uint32) {
	place := t.placeIn(a, index)
	if place == nil || *place == 0 {
		return
	}
	hole, last := *place-1, a.length-1
	*place = 0
	moved, at := *a.indices.At(last), *a.marks.At(last)
	a.marks.Remove(last, last)
	a.indices.Remove(last, last)
	if a.length = last; moved != index {
		t.moveAlarm(a, hole, moved, at)
	}
}

// renameAlarm gives the mark of an index, if there is one, to another index that has none.
func (t *order) renameAlarm(a *alarms, from, to uint32) {
	if place := t.placeIn(a, from); place != nil && *place != 0 {
		*a.indices.At(*place - 1) = to
		*t.placeIn(a, to), *place = *place, 0
	}
}

// moveAlarm puts a mark where another one was, or below or above that.
func (t *order) moveAlarm(a *alarms, place, index uint32, at clock.Mark) {
	for {
		down := 2*place + 1
		if down >= a.length {
			break
		}
		if right := down + 1; right < a.length && *a.marks.At(right) < *a.marks.At(down) {
			down = right
		}
		if at <= *a.marks.At(down) {
			break
		}
		t.putAlarm(a, place, *a.indices.At(down), *a.marks.At(down))
		place = down
	}
	t.riseAlarm(a, place, index, at)
}

// riseAlarm puts a mark at a place, or above it.
func (t *order) riseAlarm(a *alarms, place, index uint32, at clock.Mark) {
	for place > 0 {
		up := (place - 1) / 2
		if *a.marks.At(up) <= at {
			break
		}
		t.putAlarm(a, place, *a.indices.At(up), *a.marks.At(up))
		place = up
	}
	t.putAlarm(a, place, index, at)
}

func (t *order) putAlarm(a *alarms, place, index uint32, at clock.Mark) {
	*a.indices.At(place), *a.marks.At(place) = index, at
	*t.placeIn(a, index) = place + 1
}

// due returns the index whose mark has come, and false for none.
func (a *alarms) due(now clock.Mark) (index uint32, ok bool) {
	if a.length == 0 || *a.marks.At(0) > now {
		return 0, false
	}
	return *a.indices.At(0), true
}

// bytes returns the memory of the alarms.
func (a *alarms) bytes() uint64 { return uint64(len(a.marks.pages)) * pageSize * 12 }

// shrinkBlocks releases the places behind the last index, of which none has a block.
func (t *order) shrinkBlocks() {
	if keep := t.keys>>pageBits + 2; t.blockRoom>>pageBits >= 2*keep {
		pages := t.blockPlaces.pages
		clear(pages[keep:])
		t.blockPlaces.pages, t.blockRoom = pages[:keep:keep], keep<<pageBits-1
	}
}

// MayBlock reports whether a cell that has no running block may begin one: half of the
// keys may have one, so that others have a cell.
func (t *order) MayBlock() bool {
	if t.config.WhenFull != FullEvict {
		return true
	}
	now := t.holder.Now()
	for {
		index, ok := t.blocks.due(now)
		if !ok {
			return t.blocks.length < t.mostBlocks()
		}
		t.dropAlarm(&t.blocks, index)
	}
}

// CountUnblocked counts the answer to an action that could begin no block, because MayBlock
// was false, where that is a refusal over a rate.
func (t *order) CountUnblocked(a *reducer.Action, answer *reducer.Answer) {
	if !a.Blocks() && answer.Reason == reducer.ReasonRate {
		t.unblocked++
	}
}

func (t *order) mostBlocks() uint32 {
	if t.config.Part > 0 {
		return t.config.Part / 2
	}
	return t.config.Keys / 2
}

// SetBlock says whether a block of the cell of an index runs, and until when: at the mark
// it is over.
func (t *order) SetBlock(index uint32, runs bool, until clock.Mark) {
	switch {
	case index == Spare:
	case runs:
		t.setAlarm(&t.blocks, index, min(until, clock.Never-1))
	default:
		t.dropAlarm(&t.blocks, index)
	}
}

// Note is SetHeld, and SetBlock by the class that the holder gives, where cells may block or a
// block is known of. It is for holders that ask the cell after each step.
func (t *order) Note(index uint32, held, mayBlock bool) {
	t.SetHeld(index, held)
	if mayBlock || t.AnyBlock() {
		class, until := t.holder.Class(index)
		t.SetBlock(index, class == reducer.Blocked, until)
	}
}

// AnyBlock reports whether a block is known of that may still run.
func (t *order) AnyBlock() bool { return t.blocks.length > 0 }
