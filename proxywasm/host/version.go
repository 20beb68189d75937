package host

import "strconv"

// Version is a version of Envoy, which decides what a module may import and what
// it may call while it starts. Any number between the constants is good: 1.35 is
// Version(135).
type Version int

// The versions in which the imports changed, and the newest one known.
const (
	Envoy132 Version = 132 // and older: 15 functions of WASI
	Envoy133 Version = 133 // sched_yield, poll_oneoff and fd_fdstat_set_flags, for Go's own compiler
	Envoy138 Version = 138 // the last one with those alone
	Envoy139 Version = 139 // all that Go's own compiler imports
	Envoy140 Version = 140
)

// String returns "Envoy 1.40".
func (v Version) String() string { return "Envoy 1." + strconv.Itoa(int(v)-100) }

// duringStart are the host calls that a module may make while _initialize, main or
// _start runs; any other one traps. Source: WasmBase::startVm of
// proxy-wasm-cpp-host at #426, #427 and #533.
func (v Version) duringStart() map[string]bool {
	allowed := set("env.proxy_log")
	wasi := []string{"fd_write", "args_sizes_get", "args_get", "environ_sizes_get", "environ_get", "clock_time_get", "random_get"}
	if v >= Envoy133 {
		allowed["env.emscripten_notify_memory_growth"] = true
		wasi = append(wasi, "fd_fdstat_get", "fd_fdstat_set_flags", "fd_prestat_get", "fd_prestat_dir_name")
	}
	if v >= Envoy139 {
		wasi = append(wasi, "clock_res_get", "poll_oneoff")
		for _, i := range wasiImports {
			if i.since >= Envoy139 {
				wasi = append(wasi, i.name)
			}
		}
	}
	return withWASI(allowed, wasi)
}

// duringMalloc are the host calls that a module may make while the host allocates
// memory in it. Source: WasmBase::allocMemory.
func (v Version) duringMalloc() map[string]bool {
	wasi := []string{"fd_write", "clock_time_get"}
	if v >= Envoy139 {
		wasi = append(wasi, "poll_oneoff")
	}
	return withWASI(set("env.proxy_log"), wasi)
}

func set(names ...string) map[string]bool {
	s := map[string]bool{}
	for _, name := range names {
		s[name] = true
	}
	return s
}

// wasiModules are the two names under which the functions of WASI are offered.
var wasiModules = []string{"wasi_unstable", "wasi_snapshot_preview1"}

func withWASI(allowed map[string]bool, functions []string) map[string]bool {
	for _, module := range wasiModules {
		for _, name := range functions {
			allowed[module+"."+name] = true
		}
	}
	return allowed
}
