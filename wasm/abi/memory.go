package abi

import (
	"math/bits"

	"github.com/sluice-go/sluice/core/cell"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/wasm/heap/sizes"
)

// Memory is the allocator of the module. Natively there is none, and memory has no
// limit.
type Memory struct {
	// Room reports whether a call may allocate size bytes, no object of more than
	// largest, for something that is new, spare or transient.
	Room func(size, largest, what uint32) bool
	// Freed says that an object is not used any more.
	Freed func()
	// Tight says that every call must ask Room. Otherwise a call may allocate 128
	// KiB without asking.
	Tight bool

	// owed is how many bytes the objects that there are take later, when they are
	// used first, as a negative number: the collector takes it for no address.
	owed int32
}

// Owed returns how many bytes objects that there are take when they are used first. They
// are in use as Room counts.
func (m *Memory) Owed() uint32 { return uint32(-m.owed) }

// What a call allocates for: objects that are made; calls of objects that exist,
// which have some memory of their own; what is not kept after the call.
const (
	forObject = iota
	forCall
	forNow
)

// untold is what a call may allocate without asking while memory is not tight.
const untold = 128 << 10

// What is made, in bytes. They are more than the greatest that there is.
const (
	objectBytes = 1 << 10 // an object of this module with a state
	callBytes   = 1 << 10 // a call of a pipeline
	// A document takes so many times its size while it is compiled, and keeps so
	// many times. Room doubles that.
	documentTimes, planTimes = 140, 16
)

// short reports that memory has no room for so many bytes, and leaves the error.
// Nothing may have changed before.
func (m *Module) short(size, largest, what uint32) bool {
	if what == forObject {
		// Room doubles the size for objects that leave a part of a page. Of what is owed that
		// part is counted; an eighth is for heads of pages and their last objects.
		size += m.Memory.Owed() / 16 * 9
	}
	if m.Memory.Room == nil || !m.Memory.Tight && size <= untold || m.Memory.Room(size, largest, what) {
		return false
	}
	m.fail(NoMemory, "the memory of the instance has reached its limit")
	return true
}

// BadLimit is the error of a limit that is out of range.
func (m *Module) BadLimit() int32 {
	return m.fail(BadArgument, "a limit is 4194304 to 536870912 bytes")
}

// cannotGrow is short for a call at a cell that may take more than it has.
func (m *Module) cannotGrow(handle uint32) bool {
	c := m.get(handle).cell
	if c == nil || c.maker.grows == 0 || c.core != nil && c.core.Total > 0 {
		return false
	}
	return m.short(c.maker.grows, c.maker.grows, forCall)
}

// keep says that an object has taken what was promised to it, or is freed.
func (m *Module) keep(promised *uint32) {
	m.Memory.owed += int32(*promised)
	*promised = 0
}

// grows returns the most bytes that a cell takes later than when it is made, or that a step
// without cells takes for a call.
func grows(m cell.Maker) uint32 {
	g, ok := cell.GrowthOf(m)
	if !ok {
		return objectBytes
	}
	return bytesOf(g)
}

// bytesOf returns all bytes of a growth.
func bytesOf(g cell.Growth) uint32 { return g.Later + first(g) }

// first returns the bytes that the first outcome takes. It is not refused.
func first(g cell.Growth) uint32 {
	if g.First == [2]uint32{} {
		return 0
	}
	return sizes.Of(g.First[0]) + sizes.Of(g.First[1])
}

// firstBytes returns what the first call of a pipeline keeps.
func firstBytes(p *pipeline.Plan) uint32 {
	n := uint32(callBytes)
	for i := range p.Len() {
		g, _ := cell.GrowthOf(p.Maker(i))
		n += first(g)
	}
	return n
}

// planBytes returns the most that a call allocates under a plan, its cells included.
func planBytes(p *pipeline.Plan) (n uint32) {
	for i := range p.Len() {
		n += objectBytes + grows(p.Maker(i))
	}
	return n
}

// cannotCompile reports that memory has no room for a document, and leaves the error.
func (m *Module) cannotCompile(size uint32) bool {
	if size > 1<<20 {
		return false // it is refused unread
	}
	kept, all := planTimes*size+8*objectBytes, documentTimes*size+untold
	return m.short(kept, objectBytes, forObject) || m.short(all, all/16, forNow)
}

// configureBytes returns the most that a change of the plan allocates: the cells of
// all keys are made again.
func configureBytes(d *drive.Driver, plan *pipeline.Plan) uint32 {
	n := uint64(4*objectBytes + planBytes(plan))
	for i := range d.Plan().Len() {
		n += uint64(d.Counts(i).Keys) * objectBytes
	}
	return uint32(min(n, 1<<30))
}

// cannotPlay reports that memory has no room for the events of a batch, and leaves the
// error. Nothing of the batch has happened then.
func (m *Module) cannotPlay(o *object, src []byte) bool {
	begins := uint64(0)
	for at := src; len(at) >= EventSize; {
		if at[0] == OpBegin {
			begins++
		}
		used := EventSize
		if at[2]&EventKeys != 0 {
			used += keysSize
		}
		if at[2]&EventCosts != 0 {
			used += costsSize
		}
		if at[2]&EventApplies != 0 {
			used += appliesSize
		}
		at = at[min(used, len(at)):]
	}
	plan := o.driver.Plan()
	what := uint32(forCall)
	more := begins
	switch {
	case begins > 0 && o.promised > 0:
		more--
	case plan.Keyed() != 0:
		what = forObject
	case begins == 1 && o.driver.Idle():
		more--
	}
	n := more * uint64(callBytes+planBytes(plan))
	// What ends is not refused.
	if n > 0 || len(src) >= untold/16 {
		// Records of 48 bytes are in a slice that grows.
		n += 16 * uint64(len(src))
		if m.short(uint32(min(n, 1<<30)), callBytes+planBytes(plan)+16*uint32(len(src)), what) {
			return true
		}
	}
	if begins > 0 {
		m.keep(&o.promised)
	}
	return false
}

// cannotBegin reports that memory has no room for a call, and leaves the error. A call
// with known keys may use what is spare; one that takes the memory of an earlier call
// needs none.
func (m *Module) cannotBegin(d *drive.Driver, r *drive.Request) bool {
	known := true
	for keyed := d.Plan().Keyed(); keyed != 0; keyed &= keyed - 1 {
		i := bits.TrailingZeros16(keyed)
		known = known && !d.Adds(i, r.Keys[i])
	}
	what := uint32(forObject)
	if known {
		if d.Idle() {
			return false
		}
		what = forCall
	}
	n := callBytes + planBytes(d.Plan())
	return m.short(n, n, what)
}
