package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// vm is an instance of a module on one thread: WasmBase of proxy-wasm-cpp-host.
// One callback runs in it at a time.
type vm struct {
	process *Process
	thread  *thread
	base    *baseVM
	module  api.Module
	ctx     context.Context
	malloc  api.Function

	own      *wasmContext            // the VM context, of id 0
	contexts map[uint32]*wasmContext // roots and streams
	roots    map[string]*wasmContext // by plugin key
	closing  map[string]*wasmContext // roots whose proxy_on_done answered 0
	lastID   uint32

	current    *wasmContext // of the callback that runs, nil for none
	effective  uint32       // the context that the guest chose, 0 for none
	allowed    map[string]bool
	stopped    bool     // a local response was asked for: iteration stops
	after      []func() // what waits for the end of the callback
	failed     error    // why the VM is dead
	task       int      // of an interleaving, the one that runs a callback
	trapNext   bool
	trapAt     int // the number of host calls until a trap, 0 for never
	references int // plugin handles

	calls    []int // by place in imports
	entered  map[string]int
	metrics  map[uint32]*Metric
	metricID [3]uint32
	callID   [3]uint32
}

type vmKey struct{}

// newVM instantiates the code and starts it, as WasmBase::initialize does.
func newVM(p *Process, t *thread, base *baseVM) (*vm, error) {
	v := &vm{
		process: p, thread: t, base: base,
		contexts: map[uint32]*wasmContext{}, roots: map[string]*wasmContext{}, closing: map[string]*wasmContext{},
		calls: make([]int, len(imports)), entered: map[string]int{}, metrics: map[uint32]*Metric{},
	}
	v.metricID = [3]uint32{uint32(Counter), uint32(Gauge), uint32(Histogram)}
	v.callID = [3]uint32{httpCall, grpcCall, grpcStream}
	v.own = &wasmContext{vm: v, created: true}
	v.own.root = v.own
	v.ctx = context.WithValue(context.Background(), vmKey{}, v)
	// Without a name there can be many. What starts the module is called below.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	code := base.vm.Code
	var err error
	if v.module, err = code.runtime.InstantiateModule(v.ctx, code.compiled, config); err != nil {
		return nil, envoyError("Failed to create new Wasm instance: %w", err)
	}
	v.malloc = v.module.ExportedFunction(code.malloc)
	v.allowed = code.version.duringStart()
	if v.has("_initialize") {
		v.invoke(v.own, "_initialize")
		switch {
		case v.failed != nil:
		case v.has("main"):
			v.invoke(v.own, "main", 0, 0)
		case v.has("__main_void"):
			v.invoke(v.own, "__main_void")
		}
	} else if v.has("_start") {
		v.invoke(v.own, "_start")
	}
	v.allowed = nil
	v.afterCall()
	if v.failed != nil {
		return nil, errors.Join(envoyError("Failed to initialize Wasm code: %w", v.failed), v.module.Close(v.ctx))
	}
	return v, nil
}

func (v *vm) has(export string) bool { return v.module.ExportedFunction(export) != nil }

// alive says whether callbacks can run in the VM.
func (v *vm) alive() bool { return v != nil && v.failed == nil }

// invoke calls an export for a context and returns its result, 0 for none and
// after a trap. What the guest asked for until the end of the callback waits for
// afterCall.
func (v *vm) invoke(c *wasmContext, export string, args ...uint64) uint64 {
	current, effective := v.current, v.effective
	v.occupy()
	v.current, v.effective = c, 0
	defer func() { v.current, v.effective = current, effective }()
	v.entered[export]++
	if v.trapNext {
		v.trapNext = false
		v.fail(export, errors.New("the test asked for a trap"))
		return 0
	}
	f := v.module.ExportedFunction(export)
	results, err := f.Call(v.ctx, args...)
	if err != nil {
		v.fail(export, err)
		return 0
	}
	if len(results) == 0 {
		return 0
	}
	return results[0] & 0xFFFFFFFF
}

// occupy notes the task of an interleaving whose callback runs. Callbacks of two
// tasks cannot run in one VM.
func (v *vm) occupy() {
	s := v.process.scheduler
	switch {
	case s == nil:
	case v.current == nil:
		v.task = s.running
	case v.task != s.running:
		panic(misuse("two tasks of an interleaving use one VM of worker " + strconv.Itoa(v.thread.number)))
	}
}

// misuse is a mistake in a test, which is not a trap of the guest.
type misuse string

func (m misuse) Error() string { return "host: " + string(m) }

// fail marks the VM as dead. A panic of this package or of the test is not the
// guest's and goes on.
func (v *vm) fail(export string, err error) {
	var bug runtime.Error
	var mistake misuse
	if errors.As(err, &bug) || errors.As(err, &mistake) {
		panic(err)
	}
	if v.failed != nil {
		return
	}
	v.failed = envoyError("Function: %s failed: %w", export, err)
	v.process.log(LogLine{Level: Error, Thread: v.thread.number, Text: "Wasm VM failed " + v.failed.Error()})
	if v.thread.vms[v.base.key] == v {
		delete(v.thread.vms, v.base.key)
	}
	for key, h := range v.thread.handles {
		if h.vm == v {
			delete(v.thread.handles, key)
		}
	}
}

// afterCall runs what waits for the end of a callback. It can run callbacks.
func (v *vm) afterCall() {
	v.stopped = false
	for len(v.after) > 0 {
		next := v.after[0]
		v.after = v.after[1:]
		next()
	}
}

// errTrap is a trap that the host causes.
var errTrap = errors.New("trap")

// enter begins a host call of the guest.
func (v *vm) enter(at int) {
	i := &imports[at]
	v.calls[at]++
	if v.trapAt > 0 {
		if v.trapAt--; v.trapAt == 0 {
			panic(fmt.Errorf("%w: the test asked for it in %s.%s", errTrap, i.module, i.name))
		}
	}
	if v.allowed != nil && !v.allowed[i.module+"."+i.name] {
		panic(fmt.Errorf("%w: restricted_callback %s.%s", errTrap, i.module, i.name))
	}
	if i.shared {
		v.process.yield()
	}
}

// allocate asks the guest for memory. Address 0 is a failure.
func (v *vm) allocate(size uint32) (address uint32, ok bool) {
	v.entered["malloc"]++
	outer := v.allowed
	v.allowed = v.base.vm.Code.version.duringMalloc()
	current, effective := v.current, v.effective
	v.current, v.effective = v.own, 0
	results, err := v.malloc.Call(v.ctx, uint64(size))
	v.current, v.effective = current, effective
	v.allowed = outer
	if err != nil {
		v.fail(v.base.vm.Code.malloc, err)
		return 0, false
	}
	address = uint32(results[0])
	_, ok = v.view(address, size)
	return address, ok && address != 0
}

// view is the guest's memory itself, until the guest runs again.
func (v *vm) view(address, size uint32) ([]byte, bool) {
	memory := v.module.Memory()
	if memory == nil {
		return nil, false
	}
	return memory.Read(address, size)
}

func (v *vm) pages() uint32 {
	if memory := v.module.Memory(); memory != nil {
		return memory.Size() >> 16
	}
	return 0
}

// newContext gives a context the next free id: roots and streams share one row of
// numbers.
func (v *vm) newContext(c *wasmContext) *wasmContext {
	for {
		v.lastID++
		if v.lastID != 0 && v.contexts[v.lastID] == nil {
			break
		}
	}
	c.vm, c.id = v, v.lastID
	v.contexts[c.id] = c
	return c
}

// close ends the VM without any callback.
func (v *vm) close() {
	for _, root := range v.contexts {
		root.cancelCalls()
	}
	if v.thread.vms[v.base.key] == v {
		delete(v.thread.vms, v.base.key)
	}
	v.process.vms = slices.DeleteFunc(v.process.vms, func(other *vm) bool { return other == v })
	// Closing wazero's instance has no error of its own; the code owns the rest.
	_ = v.module.Close(v.ctx)
	v.base.release()
}

// call is a host call of a guest.
type call struct {
	vm    *vm
	stack []uint64
}

func (c *call) arg(i int) uint32 { return uint32(c.stack[i]) }

// text copies the guest's bytes at the address and size in two parameters.
func (c *call) text(i int) (string, bool) {
	view, ok := c.vm.view(c.arg(i), c.arg(i+1))
	return string(view), ok
}

// context is the one that the call is for.
func (c *call) context() *wasmContext {
	if c.vm.effective != 0 {
		if effective := c.vm.contexts[c.vm.effective]; effective != nil {
			return effective
		}
	}
	return c.vm.current
}

func (c *call) put32(address, value uint32) bool {
	view, ok := c.vm.view(address, 4)
	if ok {
		binary.LittleEndian.PutUint32(view, value)
	}
	return ok
}

func (c *call) put64(address uint32, value uint64) bool {
	view, ok := c.vm.view(address, 8)
	if ok {
		binary.LittleEndian.PutUint64(view, value)
	}
	return ok
}

// give writes data to memory of the guest, and where it is to the two words at
// the addresses in parameters i and i+1. Nothing is allocated for empty data.
func (c *call) give(data string, i int) Status {
	address := uint32(0)
	if len(data) > 0 {
		var ok bool
		if address, ok = c.vm.allocate(uint32(len(data))); !ok {
			return InvalidMemoryAccess
		}
		view, _ := c.vm.view(address, uint32(len(data)))
		copy(view, data)
	}
	if !c.put32(c.arg(i), address) || !c.put32(c.arg(i+1), uint32(len(data))) {
		return InvalidMemoryAccess
	}
	return OK
}
