package vectors

import (
	"encoding/binary"
	"fmt"

	"github.com/sluice-go/sluice/wasm/host"
)

// Wasm returns the instance of an engine. Its memory is viewed again after
// each call.
func Wasm(e host.Engine) (Instance, error) {
	i := &instance{engine: e, functions: map[string]host.Function{}}
	if _, err := i.Call("_initialize"); err != nil {
		return nil, err
	}
	slots, err := i.Call("slots")
	i.slots = uint32(slots)
	return i, err
}

type instance struct {
	engine    host.Engine
	functions map[string]host.Function
	slots     uint32
	stack     [8]uint64
}

func (i *instance) Call(export string, parameters ...uint64) (int32, error) {
	f := i.functions[export]
	if f == nil {
		if f = i.engine.Function(export); f == nil {
			return 0, fmt.Errorf("no export %s", export)
		}
		i.functions[export] = f
	}
	copy(i.stack[:], parameters)
	err := f.Call(i.stack[:])
	return int32(i.stack[0]), err
}

// part returns a view of the memory, nothing where it is not all there.
func (i *instance) part(at, size uint32) []byte {
	memory := i.engine.Memory()
	if uint64(at)+uint64(size) > uint64(len(memory)) {
		return nil
	}
	return memory[at : at+size]
}

func (i *instance) Slots() []byte { return i.part(i.slots, slotsSize) }

func (i *instance) Buffer(size uint32) []byte {
	return i.part(binary.LittleEndian.Uint32(i.Slots()[slotBuffer:]), size)
}

func (i *instance) Records(size uint32) []byte {
	if size == 0 {
		return nil
	}
	return i.part(binary.LittleEndian.Uint32(i.Slots()[slotRecords:]), size)
}
