package drive

import (
	"slices"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/reducer"
)

// MaxBlocks is how many keys of a step may be blocked at a time.
const MaxBlocks = 10_000

// barred is a key that an operator blocks.
type barred struct {
	key   uint32
	until clock.Mark
}

// Block has a step refuse the calls of a key for a time, with ReasonBlocked, whatever
// its cell says. Another Block of the key replaces the time. It returns false for a step
// without keys, where MaxBlocks other keys are blocked, and for a time of 0 or less.
func (d *Driver) Block(step int, key uint32, wait time.Duration) bool {
	p := d.poolOf(step)
	if p == nil || p.table == nil || wait <= 0 {
		return false
	}
	d.endBlocks(p, func(b barred) bool { return b.until <= d.now || b.key == key })
	if len(p.barred) >= MaxBlocks {
		return false
	}
	p.barred = append(p.barred, barred{key, d.now.Add(wait)})
	slices.SortFunc(p.barred, func(a, b barred) int { return int(a.key) - int(b.key) })
	d.count(key)
	return true
}

// Unblock ends what Block began. It returns false where the key is not blocked.
func (d *Driver) Unblock(step int, key uint32) bool {
	p := d.poolOf(step)
	if p == nil {
		return false
	}
	_, blocked := p.blocked(key)
	d.endBlocks(p, func(b barred) bool { return b.key == key })
	return blocked
}

// endBlocks ends some of the blocks, whose keys may have their numbers for nothing else.
func (d *Loop) endBlocks(p *pool, ends func(barred) bool) {
	kept := p.barred[:0]
	for _, b := range p.barred {
		if ends(b) {
			d.uses[b.key]--
		} else {
			kept = append(kept, b)
		}
	}
	p.barred = kept
}

// blocked returns the refusal of a key that an operator blocks, and whether there is one.
func (p *pool) blocked(key uint32) (answer reducer.Answer, ok bool) {
	low, high := 0, len(p.barred)
	for low < high {
		if middle := (low + high) / 2; p.barred[middle].key < key {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == len(p.barred) || p.barred[low].key != key || p.barred[low].until <= p.loop.now {
		return answer, false
	}
	return reducer.Rejected(reducer.ReasonBlocked, p.barred[low].until), true
}
