package host_test

import (
	"math"
	"unsafe"

	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/host"
)

// native is an instance without wasm: package abi itself, with a memory that looks like the
// memory of the module.
type native struct {
	module *abi.Module
	memory []byte
	// after, where it is not nil, changes what a call left, or makes it trap.
	after func(name string, n *native) error
	// code, where it is not 0, is the result in place of the call's own.
	code int32
	// without are exports that the instance lacks.
	without map[string]bool
	batches bool // of host.BatchEngine
	closed  int
}

// Where things are in the memory.
const (
	slotsAt   = 1 << 10
	recordsAt = 1 << 12
	bufferAt  = 1 << 19
)

func newNative() *native {
	return &native{module: &abi.Module{}, memory: make([]byte, bufferAt)}
}

func (n *native) Batches() bool { return n.batches }

func (n *native) Memory() []byte { return n.memory }

func (n *native) Close() error {
	n.closed++
	return nil
}

// calls are the exports, with their types.
var calls = map[string]struct {
	signature string
	call      func(m *abi.Module, s []uint64) int32
}{
	"_initialize": {":", func(*abi.Module, []uint64) int32 { return 0 }},
	"abi":         {":i", func(*abi.Module, []uint64) int32 { return abi.Version }},
	"slots":       {":i", func(*abi.Module, []uint64) int32 { return slotsAt }},
	"buffer":      {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Reserve(u(s[0])) }},
	"free":        {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Free(u(s[0])) }},
	"plan":        {"ii:i", func(m *abi.Module, s []uint64) int32 { return m.Plan(u(s[0]), u(s[1])) }},
	"body":        {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Body(u(s[0])) }},
	"encode":      {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Encode(u(s[0])) }},
	"describe":    {"ii:i", func(m *abi.Module, s []uint64) int32 { return m.Describe(u(s[0]), u(s[1])) }},
	"maker":       {"ii:i", func(m *abi.Module, s []uint64) int32 { return m.MakerOf(u(s[0]), u(s[1])) }},
	"pipeline":    {"iii:i", func(m *abi.Module, s []uint64) int32 { return m.Pipeline(u(s[0]), u(s[1]), u(s[2])) }},
	"join":        {"iiii:i", func(m *abi.Module, s []uint64) int32 { return m.Join(u(s[0]), u(s[1]), u(s[2]), u(s[3])) }},
	"begin": {"iiidd:i", func(m *abi.Module, s []uint64) int32 {
		return m.Begin(u(s[0]), u(s[1]), u(s[2]), f(s[3]), f(s[4]))
	}},
	"done": {"iiiiidd:i", func(m *abi.Module, s []uint64) int32 {
		return m.Done(u(s[0]), u(s[1]), u(s[2]), u(s[3]), u(s[4]), f(s[5]), f(s[6]))
	}},
	"cancel":    {"iiid:i", func(m *abi.Module, s []uint64) int32 { return m.Cancel(u(s[0]), u(s[1]), u(s[2]), f(s[3])) }},
	"renew":     {"iiiid:i", func(m *abi.Module, s []uint64) int32 { return m.Renew(u(s[0]), u(s[1]), u(s[2]), u(s[3]), f(s[4])) }},
	"advance":   {"id:i", func(m *abi.Module, s []uint64) int32 { return m.Advance(u(s[0]), f(s[1])) }},
	"configure": {"iid:i", func(m *abi.Module, s []uint64) int32 { return m.Configure(u(s[0]), u(s[1]), f(s[2])) }},
	"uses":      {"ii:i", func(m *abi.Module, s []uint64) int32 { return m.Uses(u(s[0]), u(s[1])) }},
	"save":      {"iii:i", func(m *abi.Module, s []uint64) int32 { return m.Save(u(s[0]), u(s[1]), u(s[2])) }},
	"load": {"iiiidd:i", func(m *abi.Module, s []uint64) int32 {
		return m.Load(u(s[0]), u(s[1]), u(s[2]), u(s[3]), f(s[4]), f(s[5]))
	}},
	"batch":    {"ii:i", func(m *abi.Module, s []uint64) int32 { return m.Batch(u(s[0]), u(s[1])) }},
	"limiter":  {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Limiter(u(s[0])) }},
	"bulkhead": {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Bulkhead(u(s[0])) }},
	"breaker":  {"i:i", func(m *abi.Module, s []uint64) int32 { return m.Breaker(u(s[0])) }},
	"cell":     {"id:i", func(m *abi.Module, s []uint64) int32 { return m.Cell(u(s[0]), f(s[1])) }},
	"acquire":  {"iiid:i", func(m *abi.Module, s []uint64) int32 { return m.Acquire(u(s[0]), u(s[1]), u(s[2]), f(s[3])) }},
	"step": {"iiiid:i", func(m *abi.Module, s []uint64) int32 {
		return m.Step(u(s[0]), u(s[1]), u(s[2]), u(s[3]), f(s[4]))
	}},
	"pass":    {"id:i", func(m *abi.Module, s []uint64) int32 { return m.Pass(u(s[0]), f(s[1])) }},
	"adopt":   {"iid:i", func(m *abi.Module, s []uint64) int32 { return m.Adopt(u(s[0]), u(s[1]), f(s[2])) }},
	"state":   {"i:i", func(m *abi.Module, s []uint64) int32 { return m.State(u(s[0])) }},
	"restore": {"iidd:i", func(m *abi.Module, s []uint64) int32 { return m.Restore(u(s[0]), u(s[1]), f(s[2]), f(s[3])) }},
}

func u(word uint64) uint32 { return uint32(word) }

func f(word uint64) float64 { return math.Float64frombits(word) }

func (n *native) Function(name string) host.Function {
	if _, ok := calls[name]; !ok || n.without[name] {
		return nil
	}
	return function{n, name}
}

type function struct {
	n    *native
	name string
}

func (f function) Signature() string { return calls[f.name].signature }

func (f function) Call(stack []uint64) error {
	n, m := f.n, f.n.module
	slots := unsafe.Slice((*byte)(unsafe.Pointer(&m.Slots)), unsafe.Sizeof(m.Slots))
	copy(slots, n.memory[slotsAt:])
	if len(n.memory) > bufferAt {
		copy(m.Buffer, n.memory[bufferAt:])
	}
	m.Slots.Count = 0
	result := calls[f.name].call(m, stack)
	if signature := calls[f.name].signature; signature[len(signature)-1] == 'i' {
		stack[0] = uint64(uint32(result))
	}
	m.Slots.Buffer, m.Slots.Records = bufferAt, recordsAt
	switch f.name {
	case "acquire", "step", "pass", "adopt", "restore":
		n.records(unsafe.Pointer(unsafe.SliceData(m.Others)), uintptr(len(m.Others))*unsafe.Sizeof(abi.Other{}))
	default:
		n.records(unsafe.Pointer(unsafe.SliceData(m.Decisions)), uintptr(len(m.Decisions))*unsafe.Sizeof(abi.Decision{}))
	}
	n.memory = append(n.memory[:bufferAt], m.Buffer...)
	copy(n.memory[slotsAt:], slots)
	if n.after == nil {
		return nil
	}
	err := n.after(f.name, n)
	if n.code != 0 {
		stack[0], n.code = uint64(uint32(n.code)), 0
	}
	return err
}

func (n *native) records(from unsafe.Pointer, size uintptr) {
	copy(n.memory[recordsAt:bufferAt], unsafe.Slice((*byte)(from), size))
}
