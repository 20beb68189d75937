package abi

import (
	"math/bits"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

// Buckets is a Module whose only objects are makers of token buckets without a
// queue, and such buckets. They decide as limiters of a Module do, and are a fraction
// of the size: the objects are in a table, without interfaces, and only the buffer
// and parts of the table are kept in memory that is allocated. The zero value is
// ready.
type Buckets struct {
	Module
	// Room reports whether as many bytes can be allocated. nil means that they can.
	Room func(size uint32) bool

	parts  [maxObjects / partSize]*[partSize]bucket
	length uint32 // of the table
	unused uint32 // the first unused object and 1, 0 for none
}

// partSize is how many objects are allocated at once.
const partSize = 512

// bucket is an object: a maker is a bucket that is not stepped.
type bucket struct {
	bucket limiter.Bucket
	last   clock.Mark // of the last step
	use    uint32     // the generation of the handle
	kind   uint32
	next   uint32 // of an unused object: the next one and 1
}

// The kinds of objects of Buckets.
const (
	unusedBucket = iota
	bucketMaker
	bucketCell
)

// at returns an object of the table.
func (m *Buckets) at(index uint32) *bucket { return &m.parts[index/partSize][index%partSize] }

// find returns the object of a handle, nil where it is not of the kind.
func (m *Buckets) find(handle, kind uint32) *bucket {
	if index := handle >> generationBits; index < m.length {
		if b := m.at(index); b.kind == kind && b.use == handle&generations {
			return b
		}
	}
	m.lost()
	return nil
}

// add returns a new object and its handle, nil and a code where there is no room.
func (m *Buckets) add(kind uint32) (*bucket, int32) {
	index := m.unused - 1
	if m.unused == 0 {
		if index = m.length; index >= maxObjects {
			return nil, m.fail(BadSize, "too many objects: free some, or make another instance")
		}
		if index%partSize == 0 {
			const size = partSize * 96 // more than there are
			if m.Room != nil && !m.Room(size) {
				return nil, m.fail(NoMemory, "the memory of the instance has reached its limit")
			}
			m.parts[index/partSize] = new([partSize]bucket)
		}
		m.length++
	}
	b := m.at(index)
	m.unused = b.next
	*b = bucket{kind: kind, use: max(b.use, 1)}
	return b, int32(index<<generationBits | b.use)
}

// Free forgets an object, see Module.Free.
func (m *Buckets) Free(handle uint32) int32 {
	index := handle >> generationBits
	if index >= m.length || m.at(index).kind == unusedBucket || m.at(index).use != handle&generations {
		return m.lost()
	}
	b := m.at(index)
	*b = bucket{use: b.use + 1}
	if b.use <= generations {
		b.next, m.unused = m.unused, index+1
	}
	return 0
}

// Reserve makes room for at least size bytes in the buffer and keeps what is in it.
// Buffers are not freed, so that each is twice as large as the one before.
func (m *Buckets) Reserve(size uint32) int32 {
	if size > uint32(len(m.Buffer)) && size <= MaxBuffer {
		size = max(1024, uint32(1)<<bits.Len32(size-1))
		if m.Room != nil && !m.Room(size) {
			return m.fail(NoMemory, "the memory of the instance has reached its limit")
		}
	}
	return m.Module.Reserve(size)
}

// Limiter makes a maker of token buckets of the settings of a limiter in the buffer, as
// Module.Limiter does. All but the rate and the burst are 0.
func (m *Buckets) Limiter(size uint32) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	v := numbers{src: src}
	algorithm := v.next(0)
	machine, err := tokenbucket.New(tokenbucket.Config{Count: v.count(), Period: v.duration(), Burst: v.count()})
	// The wait, the queue, the order, the attribute and the default of the cost, the charge,
	// the most that is settled, and the counted outcomes.
	for range 8 {
		v.next(0)
	}
	if v.wrong || len(v.src) > 0 || err != nil || limiter.Algorithm(algorithm) != limiter.TokenBucket {
		return m.fail(BadPolicy, "no settings of a token bucket without a queue")
	}
	b, handle := m.add(bucketMaker)
	if b != nil {
		b.bucket = limiter.NewBucket(machine, 0)
	}
	return handle
}

// Cell makes a bucket whose first step comes at now.
func (m *Buckets) Cell(makerHandle uint32, now float64) int32 {
	maker := m.find(makerHandle, bucketMaker)
	if maker == nil {
		return BadHandle
	}
	b, handle := m.add(bucketCell)
	if b != nil {
		b.last = m.mark(now, 0)
		b.bucket = limiter.NewBucket(&maker.bucket.Machine, b.last)
	}
	return handle
}

// move returns the bucket of a handle, at now.
func (m *Buckets) move(handle uint32, now float64) *bucket {
	b := m.find(handle, bucketCell)
	if b != nil {
		b.last = max(b.last, m.mark(now, b.last))
	}
	return b
}

// Acquire asks a bucket for permits of the cost. It returns the verdict.
func (m *Buckets) Acquire(handle, cost, _ uint32, now float64) int32 {
	return m.Step(handle, uint32(reducer.TryAcquire), 0, cost, now)
}

// Step steps a bucket with any action about Slots.Permit. It returns the verdict.
func (m *Buckets) Step(handle, kind, outcome, cost uint32, now float64) int32 {
	b := m.move(handle, now)
	if b == nil {
		return BadHandle
	}
	if kind > 255 || outcome > 255 {
		return m.fail(BadArgument, "no such action")
	}
	var answer reducer.Answer
	b.bucket.Step(&answer, reducer.Kind(kind), cost, &m.Slots.Permit, b.last)
	m.Slots.Count = 0
	return m.answer(&answer, b.last)
}

// Adopt puts a bucket under another configuration, see Module.Adopt.
func (m *Buckets) Adopt(handle, makerHandle uint32, now float64) int32 {
	maker := m.find(makerHandle, bucketMaker)
	if maker == nil {
		return BadHandle
	}
	b := m.move(handle, now)
	if b == nil {
		return BadHandle
	}
	b.bucket.Adopt(&maker.bucket.Machine, b.last)
	m.Slots.Count = 0
	return m.answer(&reducer.Answer{Verdict: reducer.Done}, b.last)
}

// Class returns what is lost with a bucket, see Module.Class.
func (m *Buckets) Class(handle uint32, now float64) int32 {
	b := m.move(handle, now)
	if b == nil {
		return BadHandle
	}
	class, until := b.bucket.Class(b.last)
	return m.Module.class(class, until, b.last)
}

// State leaves the state of a bucket in the buffer, as a limiter has it, and returns
// its size.
func (m *Buckets) State(handle uint32) int32 {
	b := m.find(handle, bucketCell)
	if b == nil {
		return BadHandle
	}
	var room [limiter.BucketSize]byte
	state := b.bucket.AppendState(room[:0])
	if code := m.Reserve(uint32(len(state))); code < 0 {
		return code
	}
	return m.give(state)
}

// Restore replaces the state of a bucket, see Module.Restore. The state of a limiter
// in which callers have waited is not one of a bucket.
func (m *Buckets) Restore(handle, size uint32, by, now float64) int32 {
	src, ok := m.take(size)
	if !ok {
		return BadSize
	}
	b := m.move(handle, now)
	if b == nil {
		return BadHandle
	}
	shift, _ := m.span(by)
	if !b.bucket.Restore(src, shift) {
		return m.fail(BadBytes, "no state of a token bucket without a queue")
	}
	m.Slots.Count = 0
	return m.answer(&reducer.Answer{Verdict: reducer.Done}, b.last)
}
