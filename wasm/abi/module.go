package abi

import (
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/reducer"
)

// Version of the ABI. A module of a greater one may lack what this one has.
const Version = 4

// Codes of errors. All are negative. The text of the error is in the buffer, in a
// module without texts the name of the wrong setting alone.
const (
	// BadHandle: there is no such object, or it is of another kind.
	BadHandle int32 = -1
	// BadPolicy: the document, the plan or the settings are wrong.
	BadPolicy int32 = -2
	// BadSize: more bytes than the buffer has, or more than can be had.
	BadSize int32 = -3
	// BadArgument: a number is none of those that are allowed.
	BadArgument int32 = -4
	// BadBytes: the bytes are no plan, no settings, no state or no action of this machine.
	BadBytes int32 = -5
	// Stale: the call is over, unknown or not running. It is no error of the
	// host, changes nothing, and leaves no text.
	Stale int32 = -6
	// NoMemory: the memory of the instance has no room for what would be made.
	// Nothing has changed.
	NoMemory int32 = -7
)

// MaxBuffer is the most that the buffer holds, 16 MiB.
const MaxBuffer = 16 << 20

// MaxKey is the greatest number of a key.
const MaxKey = 1<<24 - 1

// KeyMissing is the bit of a key that says that the call brings no value for one
// of the attributes of the step.
const KeyMissing = 1 << 31

// Slots are where numbers go in and out. The layout is part of the ABI.
type Slots struct {
	// Exact says which of Now and Span hold for the next call; it clears them.
	Exact uint32 // 0
	// Size of the result that the last call left in the buffer.
	Size uint32 // 4
	// Count of the records that the last call left.
	Count uint32 // 8
	// Records is their address, Buffer the address of the buffer.
	Records uint32 // 12
	Buffer  uint32 // 16
	// Free is how many permits a peek found.
	Free uint32     // 20
	Now  clock.Mark // 24, in
	Span int64      // 32, in
	// Wake is when there is next something to do, WakeMillis the same rounded up.
	Wake       clock.Mark // 40
	WakeMillis float64    // 48
	// Slot and Generation name the call that began last.
	Slot       uint32 // 56
	Generation uint32 // 60
	// Reason and Millis of the last refusal or wait of a cell.
	Reason uint32 // 64
	// Timeless says what the breaker needs no time for, see TimelessCall.
	Timeless uint32  // 68
	Millis   float64 // 72
	// Permit goes out with an admission and in with the action that ends it.
	Permit reducer.Permit // 80
	// Mode of a breaker after the last call.
	Mode uint32 // 104
	// Attempt and Before are the state of a retry.
	Attempt uint32                    // 108
	Before  int64                     // 112
	Keys    [pipeline.MaxSteps]uint32 // 120, in
	// Step of a plan that does not compile, the greatest u32 for none; of a Done with
	// DoneKeeps the timeout.
	Step uint32 // 184
	// Priced has a bit for each step whose cost in Costs holds for the next Begin, which
	// clears it.
	Priced uint32 // 188, in
	// Began is when a call of a retry alone began, in milliseconds.
	Began float64                   // 192, in
	Costs [pipeline.MaxSteps]uint32 // 200, in
	// Spent is 1 where Used holds for the next Done, which clears it.
	Spent uint32 // 264, in
	Used  uint32 // 268, in
	// Applies are the steps that do not apply to the call of the next Begin, and from bit 16
	// on those that enforce nothing for it, by an attribute. They hold, and Decides says for
	// which steps an attribute decides that, where Decides has ConditionsHold. Begin clears
	// that.
	Applies uint32 // 272, in
	Decides uint32 // 276, in
}

// The bits of Slots.Decides above the bits of the steps.
const (
	// ConditionsHold: the slots hold for the next Begin.
	ConditionsHold = 1 << 16
	// ConditionsDenied: the policy denies the call.
	ConditionsDenied = 1 << 17
	// ConditionsAllowed: the policy lets the call pass without its steps.
	ConditionsAllowed = 1 << 18
)

// conditionsOf returns the conditions of two words, as Slots.Applies and Slots.Decides
// have them.
func conditionsOf(applies, decides uint32) pipeline.Conditions {
	return pipeline.Conditions{
		Skips: uint16(applies), Shadows: uint16(applies >> 16), Decided: uint16(decides),
		Denied: decides&ConditionsDenied != 0, Allowed: decides&ConditionsAllowed != 0,
	}
}

// WordsOf returns the two words that a host puts into Slots.Applies and Slots.Decides.
func WordsOf(x *pipeline.Conditions) (applies, decides uint32) {
	applies, decides = uint32(x.Skips)|uint32(x.Shadows)<<16, uint32(x.Decided)|ConditionsHold
	if x.Denied {
		decides |= ConditionsDenied
	}
	if x.Allowed {
		decides |= ConditionsAllowed
	}
	return applies, decides
}

// The bits of Slots.Exact.
const (
	ExactNow  = 1
	ExactSpan = 2
)

// object is what a handle names: one of the pointers. An interface would do as
// well, and would link a description of every type that they lead to.
type object struct {
	cell       *holder
	maker      *maker
	plan       *pipeline.Plan
	driver     *drive.Driver
	retry      *retry.Machine
	generation uint32
	promised   uint32 // bytes that it takes when it is used first
}

// A handle is the index of an object and the generation of its use, which is
// never 0 and fits generationBits. An index whose generations are used up is not
// used again, so that no handle ever names two objects.
const (
	generationBits = 10
	generations    = 1<<generationBits - 1
	maxObjects     = 1 << (31 - generationBits)
)

// Module is all that a wasm instance holds. The zero value is ready.
type Module struct {
	Slots  Slots
	Memory Memory
	// Buffer holds bytes that go in and out.
	Buffer []byte
	// Decisions of the last call, where it was one on a pipeline.
	Decisions []Decision
	// Others are what the last call did to others, where it was one on a cell.
	Others []Other

	objects []object
	// closeDriver is set where drivers are made, so that modules without pipelines do not
	// link them.
	closeDriver func(*drive.Driver)
	free        []uint32
	out         reducer.Out
	batch       []begun
	costs       pipeline.Costs // of the call that begins
	applies     pipeline.Conditions
}

// Reserve makes room for at least size bytes in the buffer and keeps what is in
// it.
func (m *Module) Reserve(size uint32) int32 {
	if size > MaxBuffer {
		return m.fail(BadSize, "the buffer holds at most 16777216 bytes")
	}
	if int(size) > len(m.Buffer) {
		if m.short(size, size, forNow) {
			return NoMemory
		}
		room := make([]byte, max(size, 1024))
		copy(room, m.Buffer)
		m.Buffer = room
		m.Slots.Buffer = address(unsafe.Pointer(&room[0]))
	}
	return 0
}

// address is where a host finds what a pointer points to. Where pointers are
// longer than the module's it means nothing.
func address(p unsafe.Pointer) uint32 { return uint32(uintptr(p)) }

// take returns the first size bytes of the buffer.
func (m *Module) take(size uint32) ([]byte, bool) {
	if int64(size) > int64(len(m.Buffer)) {
		m.fail(BadSize, "more bytes than the buffer has")
		return nil, false
	}
	return m.Buffer[:size], true
}

// give leaves bytes in the buffer and returns how many.
func (m *Module) give(src []byte) int32 {
	if code := m.Reserve(uint32(len(src))); code < 0 {
		return code
	}
	m.Slots.Size = uint32(copy(m.Buffer, src))
	return int32(m.Slots.Size)
}

// fail leaves the text of an error, nothing in a module without texts.
func (m *Module) fail(code int32, text string) int32 {
	if !reducer.ErrorTexts {
		text = ""
	}
	return m.named(code, text)
}

// failed is fail for an error.
func (m *Module) failed(code int32, err error) int32 {
	if !reducer.ErrorTexts {
		return m.named(code, "")
	}
	return m.named(code, err.Error())
}

// named leaves a text of any module.
func (m *Module) named(code int32, text string) int32 {
	m.Slots.Count = 0
	if len(text) > len(m.Buffer) {
		if code == NoMemory || m.Reserve(uint32(min(len(text), MaxBuffer))) < 0 {
			text = text[:len(m.Buffer)]
		}
	}
	text = text[:min(len(text), len(m.Buffer))]
	m.Slots.Size = uint32(copy(m.Buffer, text))
	return code
}

// put names an object.
func (m *Module) put(o object) int32 {
	index := uint32(len(m.objects))
	if n := len(m.free); n > 0 {
		index, m.free = m.free[n-1], m.free[:n-1]
	} else if index >= maxObjects {
		m.keep(&o.promised)
		return m.fail(BadSize, "too many objects: free some, or make another instance")
	} else {
		m.objects = append(m.objects, object{generation: 1})
	}
	o.generation = m.objects[index].generation
	m.objects[index] = o
	return int32(index<<generationBits | o.generation)
}

// none is the object of a wrong handle.
var none object

// get returns the object of a handle. Its pointers are nil but for one.
func (m *Module) get(handle uint32) *object {
	if index := handle >> generationBits; index < uint32(len(m.objects)) && m.objects[index].generation == handle&generations {
		return &m.objects[index]
	}
	return &none
}

// Free forgets an object. Its handle, and no other one, is wrong from then on.
func (m *Module) Free(handle uint32) int32 {
	o := m.get(handle)
	if *o == (object{generation: o.generation}) {
		return m.lost()
	}
	m.keep(&o.promised)
	if o.cell != nil {
		m.keep(&o.cell.promised)
	}
	if o.driver != nil {
		m.closeDriver(o.driver)
	}
	if o.generation == generations {
		*o = object{}
		return 0
	}
	*o = object{generation: o.generation + 1}
	m.free = append(m.free, handle>>generationBits)
	if m.Memory.Freed != nil {
		m.Memory.Freed()
	}
	return 0
}

// keyTooGreat is the error of a key above MaxKey.
func (m *Module) keyTooGreat() int32 {
	return m.fail(BadArgument, "a key's number is at most 16777215")
}

// lost is the error of a wrong handle.
func (m *Module) lost() int32 { return m.fail(BadHandle, "no such object, or one of another kind") }
