//go:build cgo

package sluicewasmtime

import (
	"fmt"
	"math"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/host"
)

// Option changes what is compiled and how.
type Option func(*settings)

type settings struct {
	module []byte
	memory int64
}

// WithBytes takes another build of the module than the embedded one. One with
// another version of the ABI is an error of New. Default: the embedded one.
func WithBytes(module []byte) Option { return func(s *settings) { s.module = module } }

// WithMemoryLimit bounds the memory of an instance, in bytes. What would
// need more is an error with the code abi.NoMemory. Default: 4 GiB; the module has a
// limit of its own, 256 MiB.
func WithMemoryLimit(bytes uint64) Option {
	return func(s *settings) { s.memory = int64(min(bytes, math.MaxInt64)) }
}

// Code is a compiled module, of which there can be any number of instances.
type Code struct {
	engine *wasmtime.Engine
	module *wasmtime.Module
	memory int64
}

// Compile compiles the embedded module.
func Compile(options ...Option) (*Code, error) {
	s := settings{memory: -1}
	for _, option := range options {
		option(&s)
	}
	if s.module == nil {
		s.module = wasm.Module()
	}
	engine := wasmtime.NewEngine()
	module, err := wasmtime.NewModule(engine, s.module)
	if err != nil {
		engine.Close()
		return nil, err
	}
	return &Code{engine, module, s.memory}, nil
}

// New makes an instance. The Code may be closed before it.
func (c *Code) New() (*host.Module, error) {
	store := wasmtime.NewStore(c.engine)
	store.Limiter(c.memory, -1, -1, -1, -1)
	instance, err := wasmtime.NewInstance(store, c.module, nil)
	if err != nil {
		store.Close()
		return nil, err
	}
	e := &engine{store: store, instance: instance}
	if memory := instance.GetExport(store, "memory"); memory != nil {
		e.memory = memory.Memory()
	}
	return host.Open(e)
}

// Close releases the code. Its instances still work; no more can be made.
func (c *Code) Close() {
	c.module.Close()
	c.engine.Close()
}

// New compiles the module and makes one instance.
func New(options ...Option) (*host.Module, error) {
	c, err := Compile(options...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.New()
}

// engine is an instance for package host.
type engine struct {
	store    *wasmtime.Store
	instance *wasmtime.Instance
	memory   *wasmtime.Memory
}

func (e *engine) Function(name string) host.Function {
	f := e.instance.GetFunc(e.store, name)
	if f == nil {
		return nil
	}
	t := f.Type(e.store)
	params := letters(t.Params())
	return &function{e.store, f, params, params + ":" + letters(t.Results())}
}

func (e *engine) Memory() []byte {
	if e.memory == nil {
		return nil
	}
	return e.memory.UnsafeData(e.store)
}

// Batches implements host.BatchEngine: wasmtime-go allocates for each parameter.
func (e *engine) Batches() bool { return true }

func (e *engine) Close() error {
	e.store.Close()
	return nil
}

type function struct {
	store             *wasmtime.Store
	export            *wasmtime.Func
	params, signature string
}

func (f *function) Signature() string { return f.signature }

func letters(types []*wasmtime.ValType) string {
	text := make([]byte, len(types))
	for i, t := range types {
		switch t.Kind() {
		case wasmtime.KindI32:
			text[i] = 'i'
		case wasmtime.KindF64:
			text[i] = 'd'
		default:
			text[i] = '?'
		}
	}
	return string(text)
}

func (f *function) Call(stack []uint64) error {
	var room [8]any
	args := room[:len(f.params)]
	for i := range args {
		if f.params[i] == 'd' {
			args[i] = math.Float64frombits(stack[i])
		} else {
			args[i] = int32(stack[i])
		}
	}
	result, err := f.export.Call(f.store, args...)
	switch n := result.(type) {
	case int32:
		stack[0] = uint64(uint32(n))
	case nil:
	default:
		return fmt.Errorf("it returned a %T", n)
	}
	return err
}
