package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

var (
	abi021 = function{export: "proxy_abi_version_0_2_1", signature: ":"}
	malloc = function{export: "malloc", signature: "i:i", body: constant(1024)}
)

// Envoy refuses a module with these words.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	wasi := func(name, signature string) []importOf {
		return []importOf{{"wasi_snapshot_preview1", name, signature}}
	}
	env := func(name, signature string) []importOf { return []importOf{{"env", name, signature}} }
	for name, test := range map[string]struct {
		version host.Version
		module  []byte
		want    string // "" for none
	}{
		"no wasm":     {host.Envoy140, []byte("text"), "Failed to load Wasm bytecode"},
		"no ABI":      {host.Envoy140, encode(nil, malloc), "Missing or unknown Proxy-Wasm ABI version"},
		"old ABI":     {host.Envoy140, encode(nil, malloc, function{export: "proxy_abi_version_0_1_0", signature: ":"}), "the module has ABI 0.1.0"},
		"no malloc":   {host.Envoy140, encode(nil, abi021), "Wasm module is missing malloc function."},
		"old malloc":  {host.Envoy140, encode(nil, abi021, function{export: "proxy_on_memory_allocate", signature: "i:i"}), ""},
		"Redis":       {host.Envoy140, encode(env("proxy_redis_call", "iii:i"), abi021, malloc), "missing import: env.proxy_redis_call"},
		"sockets":     {host.Envoy140, encode(wasi("sock_open", "i:i"), abi021, malloc), "missing import: wasi_snapshot_preview1.sock_open"},
		"other type":  {host.Envoy140, encode(env("proxy_log", "ii:i"), abi021, malloc), "import type mismatch: env.proxy_log, want: ii:i, but host exports: iii:i"},
		"real WASI":   {host.Envoy140, encode(wasi("path_link", "iiiiiii:i"), abi021, malloc), "import type mismatch: wasi_snapshot_preview1.path_link"},
		"callback":    {host.Envoy140, encode(nil, abi021, malloc, function{export: "proxy_on_tick", signature: ":"}), "Bad function signature for: proxy_on_tick, want: i:, but the module exports: :"},
		"1.32 flags":  {host.Envoy132, encode(wasi("fd_fdstat_set_flags", "ii:i"), abi021, malloc), "Envoy 1.32: Failed to load Wasm module due to a missing import: wasi_snapshot_preview1.fd_fdstat_set_flags"},
		"1.33 flags":  {host.Envoy133, encode(wasi("fd_fdstat_set_flags", "ii:i"), abi021, malloc), ""},
		"1.35 poll":   {135, encode(wasi("poll_oneoff", "iiii:i"), abi021, malloc), ""},
		"1.38 res":    {host.Envoy138, encode(wasi("clock_res_get", "ii:i"), abi021, malloc), "missing import: wasi_snapshot_preview1.clock_res_get"},
		"1.39 res":    {host.Envoy139, encode(wasi("clock_res_get", "ii:i"), abi021, malloc), ""},
		"level":       {host.Envoy132, encode(env("proxy_get_log_level", "i:i"), abi021, malloc), ""},
		"level 0.2.0": {host.Envoy140, encode(env("proxy_get_log_level", "i:i"), malloc, function{export: "proxy_abi_version_0_2_0", signature: ":"}), "missing import: env.proxy_get_log_level"},
		"continue":    {host.Envoy140, encode(env("proxy_continue_request", ":i"), abi021, malloc), "missing import: env.proxy_continue_request"},
		"both WASIs":  {host.Envoy132, encode([]importOf{{"wasi_unstable", "fd_close", "i:i"}, {"wasi_snapshot_preview1", "fd_close", "i:i"}}, abi021, malloc), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, err := host.Compile(test.module, test.version)
			if test.want != "" {
				assert.ErrorContains(t, err, test.want)
				return
			}
			require.NoError(t, err)
			assert.NoError(t, code.Close())
		})
	}
}

// loadModule loads a module of its own and returns what the host logged.
func loadModule(t *testing.T, module []byte, version host.Version) (string, error) {
	t.Helper()
	code, err := host.Compile(module, version)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, code.Close()) })
	p := host.NewProcess(host.Config{})
	t.Cleanup(p.Close)
	_, err = p.Load(host.Plugin{Name: "test", Config: []byte("config"), VM: host.VM{Code: code}})
	return said(p), err
}

// configure reads the configuration of the plugin, to the words at 0 and 4, and
// answers true for status 0.
func configure(readBuffer int) function {
	body := slices.Concat(constant(7), constant(0), constant(100), constant(0), constant(4), callOf(readBuffer), []byte{0x45})
	return function{export: "proxy_on_configure", signature: "ii:i", body: body}
}

var readBuffer = importOf{"env", "proxy_get_buffer_bytes", "iiiii:i"}

// Envoy looks for malloc first.
func TestMallocGoesFirst(t *testing.T) {
	t.Parallel()
	trap := function{export: "proxy_on_memory_allocate", signature: "i:i", body: []byte{unreachable}}
	_, err := loadModule(t, encode([]importOf{readBuffer}, abi021, malloc, trap, configure(0)), host.Envoy140)
	require.NoError(t, err)

	logged, err := loadModule(t, encode([]importOf{readBuffer}, abi021, trap, configure(0)), host.Envoy140)
	require.ErrorContains(t, err, "Failed to configure base Wasm plugin")
	assert.Contains(t, logged, "Function: proxy_on_memory_allocate failed")
}

// An allocator that answers 0, or memory that there is not, is
// INVALID_MEMORY_ACCESS of the host call.
func TestMallocFails(t *testing.T) {
	t.Parallel()
	for _, address := range []int32{0, 65536 - 5} {
		bad := function{export: "malloc", signature: "i:i", body: constant(address)}
		_, err := loadModule(t, encode([]importOf{readBuffer}, abi021, bad, configure(0)), host.Envoy140)
		assert.ErrorContains(t, err, "Failed to configure base Wasm plugin")
	}
}

// Few host calls are allowed while a module starts and while it allocates.
func TestRestrictedCallbacks(t *testing.T) {
	t.Parallel()
	period := importOf{"env", "proxy_set_tick_period_milliseconds", "i:i"}
	clock := importOf{"wasi_snapshot_preview1", "clock_time_get", "iIi:i"}
	random := importOf{"wasi_snapshot_preview1", "random_get", "ii:i"}
	poll := importOf{"wasi_unstable", "poll_oneoff", "iiii:i"}
	calls := map[string][]byte{
		period.name: slices.Concat(constant(5), callOf(1), []byte{drop}),
		clock.name:  slices.Concat(constant(1), []byte{0x42, 0}, constant(64), callOf(1), []byte{drop}),
		random.name: slices.Concat(constant(64), constant(8), callOf(1), []byte{drop}),
		poll.name:   slices.Concat(constant(0), constant(0), constant(0), constant(64), callOf(1), []byte{drop}),
	}
	for name, test := range map[string]struct {
		call          importOf
		version       host.Version
		start, malloc bool // allowed
	}{
		"tick":      {period, host.Envoy140, false, false},
		"clock":     {clock, host.Envoy132, true, true},
		"random":    {random, host.Envoy140, true, false},
		"poll 1.38": {poll, host.Envoy138, false, false},
		"poll 1.39": {poll, host.Envoy139, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			imports := []importOf{readBuffer, test.call}
			body := calls[test.call.name]
			initialize := function{export: "_initialize", signature: ":", body: body}
			_, err := loadModule(t, encode(imports, abi021, malloc, configure(0), initialize), test.version)
			if test.start {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, "restricted_callback "+test.call.module+"."+test.call.name)
			}
			allocate := function{export: "malloc", signature: "i:i", body: append(slices.Clone(body), constant(1024)...)}
			logged, err := loadModule(t, encode(imports, abi021, allocate, configure(0)), test.version)
			if test.malloc {
				assert.NoError(t, err)
			} else {
				assert.Error(t, err)
				assert.Contains(t, logged, "Function: malloc failed: trap: restricted_callback "+test.call.module+"."+test.call.name)
			}
		})
	}
}

// A reactor is started by _initialize, with main after it; a command by _start.
func TestStartFunctions(t *testing.T) {
	t.Parallel()
	logs := func(level int32) []byte {
		return slices.Concat(constant(level), constant(0), constant(0), callOf(0), []byte{drop})
	}
	imports := []importOf{{"env", "proxy_log", "iii:i"}}
	initialize := function{export: "_initialize", signature: ":", body: logs(2)}
	main := function{export: "main", signature: "ii:i", body: append(logs(3), constant(0)...)}
	void := function{export: "__main_void", signature: ":i", body: append(logs(4), constant(0)...)}
	command := function{export: "_start", signature: ":", body: logs(5)}
	for want, functions := range map[string][]function{
		"info warning": {initialize, main, void, command},
		"info error":   {initialize, void, command},
		"critical":     {main, void, command},
		"":             {main},
	} {
		code, err := host.Compile(encode(imports, append(functions, abi021, malloc)...), host.Envoy140)
		require.NoError(t, err)
		p := host.NewProcess(host.Config{})
		f, err := p.Load(host.Plugin{VM: host.VM{Code: code}})
		require.NoError(t, err)
		var got []string
		for _, line := range p.Logs() {
			got = append(got, line.Level.String())
		}
		// The base VM, the canary, the main thread and the worker.
		assert.Equal(t, strings.TrimSpace(strings.Repeat(want+" ", 4)), strings.Join(got, " "))
		assert.Equal(t, uint32(1), f.Worker(0).Pages())
		p.Close()
		assert.NoError(t, code.Close())
	}
}
