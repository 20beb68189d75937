package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Code is a compiled module, checked for a version of Envoy. Any number of
// processes and goroutines can use one.
type Code struct {
	version  Version
	abi      int // 0_2_0 or 0_2_1 as 20 and 21
	key      string
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	malloc   string // malloc or proxy_on_memory_allocate
}

// maxPages is the most memory that Envoy gives a module, 1 GiB.
const maxPages = 1 << 30 >> 16

// Compile compiles a module and refuses what that Envoy refuses to load, with
// Envoy's words: a module without an ABI version, one that imports what this Envoy
// lacks or has with another type, one without an allocator, and a callback of
// another type.
func Compile(module []byte, version Version) (*Code, error) {
	ctx := context.Background()
	sum := sha256.Sum256(module)
	c := &Code{version: version, key: version.String() + "/" + string(sum[:])}
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages)
	c.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	err := c.compile(ctx, module)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host: %s: %w", version, err), c.Close())
	}
	return c, nil
}

// Close releases the code and all VMs that run it.
func (c *Code) Close() error { return c.runtime.Close(context.Background()) }

func (c *Code) compile(ctx context.Context, module []byte) (err error) {
	if c.compiled, err = c.runtime.CompileModule(ctx, module); err != nil {
		return envoyError("Failed to load Wasm bytecode: %w", err)
	}
	exports := c.compiled.ExportedFunctions()
	switch {
	case exports["proxy_abi_version_0_2_1"] != nil:
		c.abi = 21
	case exports["proxy_abi_version_0_2_0"] != nil:
		c.abi = 20
	case exports["proxy_abi_version_0_1_0"] != nil:
		return errors.New("the module has ABI 0.1.0, which this host does not offer")
	default:
		return envoyError("Missing or unknown Proxy-Wasm ABI version")
	}
	if err := c.link(ctx); err != nil {
		return err
	}
	for _, f := range exportTypes {
		if found := exports[f.name]; found != nil && signature(found) != f.signature {
			return envoyError("Bad function signature for: %s, want: %s, but the module exports: %s", f.name, f.signature, signature(found))
		}
	}
	switch {
	case exports["malloc"] != nil:
		c.malloc = "malloc"
	case exports["proxy_on_memory_allocate"] != nil:
		c.malloc = "proxy_on_memory_allocate"
	default:
		return envoyError("Wasm module is missing malloc function.")
	}
	return nil
}

// link offers the module what its Envoy has.
func (c *Code) link(ctx context.Context) error {
	offered := map[string]int{} // the place in imports by MODULE.NAME
	for at, i := range imports {
		if i.since <= c.version && i.abi <= c.abi {
			offered[i.module+"."+i.name] = at
		}
	}
	builders := map[string]wazero.HostModuleBuilder{}
	linked := map[int]bool{}
	for _, f := range c.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		at, ok := offered[module+"."+name]
		if !ok {
			return envoyError("Failed to load Wasm module due to a missing import: %s.%s", module, name)
		}
		if want := imports[at].signature; signature(f) != want {
			return envoyError("Failed to load Wasm module due to an import type mismatch: %s.%s, want: %s, but host exports: %s",
				module, name, signature(f), want)
		}
		if linked[at] {
			continue
		}
		linked[at] = true
		if builders[module] == nil {
			builders[module] = c.runtime.NewHostModuleBuilder(module)
		}
		builders[module].NewFunctionBuilder().WithGoModuleFunction(imports[at].function(at), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, builder := range builders {
		if _, err := builder.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

// envoyError is an error in Envoy's words, which users search for.
func envoyError(format string, args ...any) error { return fmt.Errorf(format, args...) }

// signature is the type of a function: a letter for each parameter, a colon and
// one for the result; i is i32, I is i64.
func signature(f api.FunctionDefinition) string {
	letters := func(types []api.ValueType) string {
		var text strings.Builder
		for _, t := range types {
			text.WriteByte(cmp.Or(map[api.ValueType]byte{api.ValueTypeI32: 'i', api.ValueTypeI64: 'I'}[t], '?'))
		}
		return text.String()
	}
	return letters(f.ParamTypes()) + ":" + letters(f.ResultTypes())
}

// hostImport is a function that Envoy offers to modules.
type hostImport struct {
	module, name, signature string
	since                   Version
	abi                     int
	// shared says that the call reads or writes what the workers share, so that
	// an interleaving can switch before it.
	shared bool
	run    func(*call) uint32
}

// function is the form that wazero calls.
func (i hostImport) function(at int) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		v := ctx.Value(vmKey{}).(*vm)
		v.enter(at)
		result := i.run(&call{vm: v, stack: stack})
		if !strings.HasSuffix(i.signature, ":") {
			stack[0] = uint64(result)
		}
	}
}

// imports are all functions that any version offers. Source: exports.h of
// proxy-wasm-cpp-host, and registerCallbacks of Envoy's Wasm.
var imports = allImports()

func allImports() []hostImport {
	all := proxyImports()
	for _, i := range wasiImports {
		for _, module := range wasiModules {
			i.module = module
			i.shared = i.name == "clock_time_get"
			all = append(all, i)
		}
	}
	return all
}

// exportTypes are the functions that Envoy looks for in a module.
var exportTypes = []struct{ name, signature string }{
	{"_initialize", ":"}, {"_start", ":"}, {"main", "ii:i"}, {"__main_void", ":i"},
	{"malloc", "i:i"}, {"proxy_on_memory_allocate", "i:i"},
	{"proxy_validate_configuration", "ii:i"},
	{"proxy_on_context_create", "ii:"}, {"proxy_on_vm_start", "ii:i"}, {"proxy_on_configure", "ii:i"}, {"proxy_on_tick", "i:"},
	{"proxy_on_new_connection", "i:i"}, {"proxy_on_downstream_data", "iii:i"}, {"proxy_on_upstream_data", "iii:i"},
	{"proxy_on_downstream_connection_close", "ii:"}, {"proxy_on_upstream_connection_close", "ii:"},
	{"proxy_on_request_headers", "iii:i"}, {"proxy_on_request_body", "iii:i"}, {"proxy_on_request_trailers", "ii:i"}, {"proxy_on_request_metadata", "ii:i"},
	{"proxy_on_response_headers", "iii:i"}, {"proxy_on_response_body", "iii:i"}, {"proxy_on_response_trailers", "ii:i"}, {"proxy_on_response_metadata", "ii:i"},
	{"proxy_on_http_call_response", "iiiii:"},
	{"proxy_on_grpc_receive_initial_metadata", "iii:"}, {"proxy_on_grpc_receive_trailing_metadata", "iii:"}, {"proxy_on_grpc_receive", "iii:"}, {"proxy_on_grpc_close", "iii:"},
	{"proxy_on_queue_ready", "ii:"}, {"proxy_on_foreign_function", "iii:"},
	{"proxy_on_done", "i:i"}, {"proxy_on_log", "i:"}, {"proxy_on_delete", "i:"},
}
