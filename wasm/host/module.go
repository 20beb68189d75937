package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unsafe"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/wasm/abi"
)

// Error is an error of the module, or of this package, about an argument. Unless the
// method says otherwise, the call has changed nothing.
type Error struct {
	// Code of ABI.md, less than 0.
	Code int32
	// Text says what is wrong; of a policy, in a line for each error, each with
	// its place: "policy:1:58: policies.vendor.steps[0].limit.rate: found ...".
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

var (
	// ErrStale says that a call is over, unknown, or not running, so that it can
	// neither end nor be renewed. What was due before has happened.
	ErrStale = errors.New("the call is over, unknown or not running")
	// ErrBroken says that the instance trapped or did what the ABI excludes. The
	// error that wraps it says what; the module cannot be used any more.
	ErrBroken = errors.New("the wasm module is broken")
	// ErrMissing says that the module was built without an export, as those that
	// have limiters or breakers alone. The error that wraps it names the export.
	ErrMissing = errors.New("the wasm module has no such export")
	// ErrClosed says that the module was closed.
	ErrClosed = errors.New("the wasm module is closed")
)

// Module is an instance of the wasm module. Open makes one.
type Module struct {
	mu        sync.Mutex
	engine    Engine
	functions [exports]Function
	lost      error  // why it cannot be used, nil while it works
	slots     uint32 // where the slots are
	room      uint32 // bytes of the buffer
	batches   bool   // events are sent in batches of one
	stack     [8]uint64
}

// The offsets of slots.
const (
	atExact   = uint32(unsafe.Offsetof(abi.Slots{}.Exact))
	atSize    = uint32(unsafe.Offsetof(abi.Slots{}.Size))
	atCount   = uint32(unsafe.Offsetof(abi.Slots{}.Count))
	atRecords = uint32(unsafe.Offsetof(abi.Slots{}.Records))
	atBuffer  = uint32(unsafe.Offsetof(abi.Slots{}.Buffer))
	atNow     = uint32(unsafe.Offsetof(abi.Slots{}.Now))
	atSpan    = uint32(unsafe.Offsetof(abi.Slots{}.Span))
	atWake    = uint32(unsafe.Offsetof(abi.Slots{}.Wake))
	atReason  = uint32(unsafe.Offsetof(abi.Slots{}.Reason))
	atPermit  = uint32(unsafe.Offsetof(abi.Slots{}.Permit))
	atKeys    = uint32(unsafe.Offsetof(abi.Slots{}.Keys))
	atPriced  = uint32(unsafe.Offsetof(abi.Slots{}.Priced))
	atSpent   = uint32(unsafe.Offsetof(abi.Slots{}.Spent))
	atUsed    = uint32(unsafe.Offsetof(abi.Slots{}.Used))
	atApplies = uint32(unsafe.Offsetof(abi.Slots{}.Applies))
	atDecides = uint32(unsafe.Offsetof(abi.Slots{}.Decides))
	atCosts   = uint32(unsafe.Offsetof(abi.Slots{}.Costs))
	slotsSize = uint32(unsafe.Sizeof(abi.Slots{}))
)

// nan is a time whose exact value is in a slot.
var nan = math.Float64bits(math.NaN())

// Open makes a Module of a fresh instance, which belongs to it from then on and
// is closed on an error. A module of another version of the ABI is an error.
func Open(engine Engine) (*Module, error) {
	m := &Module{engine: engine}
	if b, ok := engine.(BatchEngine); ok {
		m.batches = b.Batches()
	}
	if err := m.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("not a module of Sluice: %w", err), engine.Close())
	}
	return m, nil
}

func (m *Module) open() error {
	if m.engine.Memory() == nil {
		return errors.New("it has no memory")
	}
	for e := range exports {
		f := m.engine.Function(abiTable[e].name)
		if f == nil {
			if e <= free {
				return fmt.Errorf("it has no export %s", abiTable[e].name)
			}
			continue
		}
		if got := f.Signature(); got != abiTable[e].signature {
			return fmt.Errorf("the export %s is %s, not %s", abiTable[e].name, got, abiTable[e].signature)
		}
		m.functions[e] = f
	}
	if _, err := m.raw(initialize); err != nil {
		return err
	}
	got, err := m.raw(version)
	if err != nil {
		return err
	}
	if got != abi.Version {
		return fmt.Errorf("its ABI has version %d, not %d", got, abi.Version)
	}
	if m.slots, err = m.raw(slots); err != nil {
		return err
	}
	if uint64(m.slots)+uint64(slotsSize) > uint64(len(m.engine.Memory())) {
		return errors.New("its slots are outside its memory")
	}
	return nil
}

// Close releases the instance. No object of the module can be used afterwards.
func (m *Module) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if errors.Is(m.lost, ErrClosed) {
		return nil
	}
	m.lost = ErrClosed
	return m.engine.Close()
}

// Lost returns why the module cannot be used, ErrClosed or an error that wraps
// ErrBroken, and nil as long as it works.
func (m *Module) Lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// Size returns how many bytes of memory the instance has, 0 where it is lost.
func (m *Module) Size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	memory, err := m.memory()
	if err != nil {
		return 0
	}
	return len(memory)
}

// broken marks the module as broken and returns why.
func (m *Module) broken(why error) error {
	if m.lost == nil {
		m.lost = fmt.Errorf("%w: %w", ErrBroken, why)
	}
	return m.lost
}

// raw calls an export and returns its result, whatever it means.
func (m *Module) raw(e export, args ...uint64) (uint32, error) {
	if m.lost != nil {
		return 0, m.lost
	}
	f := m.functions[e]
	if f == nil {
		return 0, fmt.Errorf("%w: %s", ErrMissing, abiTable[e].name)
	}
	copy(m.stack[:], args)
	if err := f.Call(m.stack[:]); err != nil {
		return 0, m.broken(err)
	}
	return uint32(m.stack[0]), nil
}

// call calls an export whose negative results are errors.
func (m *Module) call(e export, args ...uint64) (uint32, error) {
	n, err := m.raw(e, args...)
	if err != nil || int32(n) >= 0 {
		return n, err
	}
	return 0, m.wrong(n)
}

// wrong returns the error that a negative result means.
func (m *Module) wrong(code uint32) error {
	text, err := m.left()
	if err != nil {
		return err
	}
	return &Error{Code: int32(code), Text: string(text)}
}

// memory returns the memory of an instance that is not lost. The slots are in it.
func (m *Module) memory() ([]byte, error) {
	if m.lost != nil {
		return nil, m.lost
	}
	memory := m.engine.Memory()
	if uint64(m.slots)+uint64(slotsSize) > uint64(len(memory)) {
		return nil, m.broken(errors.New("its memory shrank"))
	}
	return memory, nil
}

// part returns a part of the memory.
func (m *Module) part(memory []byte, from uint32, size uint64) ([]byte, error) {
	if uint64(from)+size > uint64(len(memory)) {
		return nil, m.broken(errors.New("an address is outside its memory"))
	}
	return memory[from : uint64(from)+size], nil
}

func (m *Module) read32(memory []byte, at uint32) uint32 {
	return binary.LittleEndian.Uint32(memory[m.slots+at:])
}

func (m *Module) read64(memory []byte, at uint32) uint64 {
	return binary.LittleEndian.Uint64(memory[m.slots+at:])
}

// at passes the time of the next call.
func (m *Module) at(memory []byte, now clock.Mark) {
	binary.LittleEndian.PutUint32(memory[m.slots+atExact:], abi.ExactNow)
	binary.LittleEndian.PutUint64(memory[m.slots+atNow:], uint64(now))
}

// by passes the span of the next call, which has a time as well.
func (m *Module) by(memory []byte, span time.Duration) {
	binary.LittleEndian.PutUint32(memory[m.slots+atExact:], abi.ExactNow|abi.ExactSpan)
	binary.LittleEndian.PutUint64(memory[m.slots+atSpan:], uint64(span))
}

// left returns what a call left in the buffer.
func (m *Module) left() ([]byte, error) {
	memory, err := m.memory()
	if err != nil {
		return nil, err
	}
	return m.part(memory, m.read32(memory, atBuffer), uint64(m.read32(memory, atSize)))
}

// makeRoom makes room in the buffer and returns it, with the memory.
func (m *Module) makeRoom(size int) (room, memory []byte, err error) {
	if size > abi.MaxBuffer {
		return nil, nil, &Error{Code: abi.BadSize, Text: fmt.Sprintf("%d bytes are more than the %d of the buffer", size, abi.MaxBuffer)}
	}
	if uint32(size) > m.room {
		if _, err := m.call(buffer, uint64(size)); err != nil {
			return nil, nil, err
		}
		m.room = uint32(size)
	}
	if memory, err = m.memory(); err != nil {
		return nil, nil, err
	}
	room, err = m.part(memory, m.read32(memory, atBuffer), uint64(size))
	return room, memory, err
}

// object is something in the module that a handle names.
type object struct {
	m      *Module
	handle uint32
}

// put keeps the handle that a call returned.
func (m *Module) put(handle uint32, err error) (object, error) {
	return object{m, handle}, err
}

// Close forgets the object in the module; what is done with it later is an
// error. An object of a closed module needs no Close.
func (o *object) Close() error {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	return o.m.free(o)
}

// free is Close for one that has the lock.
func (m *Module) free(o *object) error {
	if errors.Is(m.lost, ErrClosed) {
		return nil
	}
	_, err := m.call(free, uint64(o.handle))
	return err
}
