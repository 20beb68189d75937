package keyed

import "github.com/sluice-go/sluice/clock"

// Class says how much is lost with a cell that is not held. Of the cells that are old
// enough, one of the least class is evicted, and among these the least recently used.
type Class uint8

const (
	// Unused: the cell decides as a new one would.
	Unused Class = iota
	// InUse: the cell has counted something, and admits a call of cost 1.
	InUse
	// UsedUp: the cell refuses a call of cost 1, or is in debt. So does a breaker that is
	// not closed.
	UsedUp
	// Blocked: a block of the cell runs.
	Blocked
)

// Steady is the class of a cell at which time changes nothing: Unused, or InUse.
func Steady(unused bool) (Class, clock.Mark) {
	if unused {
		return Unused, clock.Never
	}
	return InUse, clock.Never
}

// Holder is what a table asks the holder of its cells when it looks for one to evict.
type Holder interface {
	// Now returns the present mark, which never goes back.
	Now() clock.Mark
	// Class returns the class of the cell at an index that is not held, and until when the
	// cell keeps it if nothing but time passes: at the mark or later time alone gives it
	// another one. clock.Never for a class that time does not change.
	Class(index uint32) (Class, clock.Mark)
}

// SetHolder sets whom the table asks. Without a holder all cells are of one class, and
// the least recently used one is evicted.
func (t *order) SetHolder(h Holder) { t.holder = h }

// alarm is a mark at which the class of the cell at an index may change.
type alarm struct {
	at    clock.Mark
	index uint32
}

// alarms is a heap with the earliest alarm first, of at most one for each index. The
// place of an index, 0 for none, is in the slab.
type alarms struct {
	list   []alarm
	places Slab[uint32]
	last   uint32 // the places have room up to here
}

// set sets the alarm of an index, or removes it for clock.Never.
func (a *alarms) set(index uint32, at clock.Mark) {
	place := a.placeOf(index)
	switch {
	case at == clock.Never && place == 0:
	case at == clock.Never:
		a.remove(index)
	case place == 0:
		if index > a.last {
			a.places.Grow(index)
			a.last = index
		}
		a.list = append(a.list, alarm{})
		a.rise(len(a.list)-1, alarm{at, index})
	default:
		a.move(int(place)-1, alarm{at, index})
	}
}

// placeOf returns the place of an index and 1, 0 for none.
func (a *alarms) placeOf(index uint32) uint32 {
	if index > a.last || len(a.list) == 0 {
		return 0
	}
	return *a.places.At(index)
}

// remove removes the alarm of an index, if there is one.
func (a *alarms) remove(index uint32) {
	place := a.placeOf(index)
	if place == 0 {
		return
	}
	*a.places.At(index) = 0
	last := a.list[len(a.list)-1]
	a.list = a.list[:len(a.list)-1]
	if last.index != index {
		a.move(int(place)-1, last)
	}
	if len(a.list) == 0 && cap(a.list) > pageSize {
		a.list = nil
	}
}

// shrink releases the places behind the last index, of which none has an alarm.
func (a *alarms) shrink(last uint32) {
	if keep := last>>pageBits + 2; a.last>>pageBits >= 2*keep {
		pages := a.places.pages
		clear(pages[keep:])
		a.places.pages, a.last = pages[:keep:keep], keep<<pageBits-1
	}
}

// rename gives the alarm of an index, if there is one, to another index that has none.
func (a *alarms) rename(from, to uint32) {
	if place := a.placeOf(from); place != 0 {
		*a.places.At(from) = 0
		a.put(int(place)-1, alarm{a.list[place-1].at, to})
	}
}

// move puts an alarm where the one at a place was.
func (a *alarms) move(place int, x alarm) {
	for {
		down := 2*place + 1
		if down >= len(a.list) {
			break
		}
		if right := down + 1; right < len(a.list) && a.list[right].at < a.list[down].at {
			down = right
		}
		if x.at <= a.list[down].at {
			break
		}
		a.put(place, a.list[down])
		place = down
	}
	a.rise(place, x)
}

// rise puts an alarm at a place, or above it.
func (a *alarms) rise(place int, x alarm) {
	for place > 0 {
		up := (place - 1) / 2
		if a.list[up].at <= x.at {
			break
		}
		a.put(place, a.list[up])
		place = up
	}
	a.put(place, x)
}

func (a *alarms) put(place int, x alarm) {
	a.list[place] = x
	*a.places.At(x.index) = uint32(place) + 1
}

// due returns the index whose alarm is due at a mark, and false for none.
func (a *alarms) due(now clock.Mark) (index uint32, ok bool) {
	if len(a.list) == 0 || a.list[0].at > now {
		return 0, false
	}
	return a.list[0].index, true
}

// bytes returns the memory of the alarms.
func (a *alarms) bytes() uint64 {
	return uint64(cap(a.list))*16 + uint64(len(a.places.pages))*pageSize*4
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
			return len(t.blocks.list) < t.mostBlocks()
		}
		t.blocks.remove(index)
	}
}

func (t *order) mostBlocks() int {
	if t.config.Part > 0 {
		return int(t.config.Part / 2)
	}
	return int(t.config.Keys / 2)
}

// SetBlock says whether a block of the cell of an index runs, and until when: at the mark
// it is over.
func (t *order) SetBlock(index uint32, runs bool, until clock.Mark) {
	switch {
	case index == Spare:
	case runs:
		t.blocks.set(index, min(until, clock.Never-1))
	default:
		t.blocks.remove(index)
	}
}

// AnyBlock reports whether a block is known of that may still run.
func (t *order) AnyBlock() bool { return len(t.blocks.list) > 0 }
