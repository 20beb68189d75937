package sluicewazero

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/sluice-go/sluice/wasm"
	"github.com/sluice-go/sluice/wasm/host"
)

// Option changes what is compiled and how.
type Option func(*settings)

type settings struct {
	module []byte
	config wazero.RuntimeConfig
}

// WithBytes takes another build of the module than the embedded one. One with
// another version of the ABI is an error of New. Default: the embedded one.
func WithBytes(module []byte) Option { return func(s *settings) { s.module = module } }

// WithMemoryLimit bounds the memory of an instance, in bytes rounded down to
// pages of 64 KiB, 65,536 pages at most. What would need more
// is an error with the code abi.NoMemory. Default: 4 GiB; the module has a limit of its
// own, 256 MiB.
func WithMemoryLimit(bytes uint64) Option {
	return func(s *settings) { s.config = s.config.WithMemoryLimitPages(uint32(min(bytes>>16, 1<<16))) }
}

// WithCache stores compiled modules, in memory or in a folder, for the next Compile
// of the same module. The caller closes the cache, after everything that uses it.
// Default: none.
func WithCache(cache wazero.CompilationCache) Option {
	return func(s *settings) { s.config = s.config.WithCompilationCache(cache) }
}

// Code is a compiled module, of which there can be any number of instances.
type Code struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// Compile compiles the embedded module. The context is for wazero; its end
// does not stop anything later on.
func Compile(ctx context.Context, options ...Option) (*Code, error) {
	s := settings{config: wazero.NewRuntimeConfig()}
	for _, option := range options {
		option(&s)
	}
	if s.module == nil {
		s.module = wasm.Module()
	}
	c := &Code{runtime: wazero.NewRuntimeWithConfig(ctx, s.config)}
	var err error
	if c.compiled, err = c.runtime.CompileModule(ctx, s.module); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// New makes an instance. Its Close leaves the Code as it is.
func (c *Code) New(ctx context.Context) (*host.Module, error) { return c.instance(ctx, false) }

// Close releases the code and all its instances.
func (c *Code) Close() error { return c.runtime.Close(context.Background()) }

// New compiles the module and makes one instance, whose Close releases both.
func New(ctx context.Context, options ...Option) (*host.Module, error) {
	c, err := Compile(ctx, options...)
	if err != nil {
		return nil, err
	}
	m, err := c.instance(ctx, true)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return m, nil
}

func (c *Code) instance(ctx context.Context, owner bool) (*host.Module, error) {
	// Without a name there can be many. The start function is called by host.
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	module, err := c.runtime.InstantiateModule(ctx, c.compiled, config)
	if err != nil {
		return nil, err
	}
	e := &engine{module: module, memory: module.ExportedMemory("memory")}
	if owner {
		e.code = c
	}
	return host.Open(e)
}

// engine is an instance for package host.
type engine struct {
	module api.Module
	memory api.Memory
	code   *Code // to be closed with it, nil for none
}

func (e *engine) Function(name string) host.Function {
	if f := e.module.ExportedFunction(name); f != nil {
		return function{f}
	}
	return nil
}

func (e *engine) Memory() []byte {
	if e.memory == nil {
		return nil
	}
	view, _ := e.memory.Read(0, e.memory.Size())
	return view
}

func (e *engine) Close() error {
	if e.code != nil {
		return e.code.Close()
	}
	return e.module.Close(context.Background())
}

type function struct{ export api.Function }

func (f function) Signature() string {
	definition := f.export.Definition()
	return letters(definition.ParamTypes()) + ":" + letters(definition.ResultTypes())
}

func letters(types []api.ValueType) string {
	text := make([]byte, 0, 8)
	for _, t := range types {
		switch t {
		case api.ValueTypeI32:
			text = append(text, 'i')
		case api.ValueTypeF64:
			text = append(text, 'd')
		default:
			text = append(text, '?')
		}
	}
	return string(text)
}

func (f function) Call(stack []uint64) error {
	return f.export.CallWithStack(context.Background(), stack)
}
