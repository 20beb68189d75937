// Package host is an Envoy for tests of proxy-wasm filters: the module runs in
// wazero, against the same rules as in Envoy's wasm filter, and a test decides what
// arrives, what time it is, and which worker goes on.
//
//	code, err := host.Compile(module, host.Envoy140)
//	envoy := host.NewProcess(host.Config{Workers: 4})
//	filter, err := envoy.Load(host.Plugin{Name: "limit", Config: config, VM: host.VM{Code: code}})
//	stream := filter.Worker(0).Do(host.Get("/orders"), host.Answer(200))
//	stream.Response().Status() // 429, when the filter refused
//
// A Process is one Envoy: a main thread and workers, each with its own VM of a
// plugin, and what VMs share: shared data, queues and metrics. A Filter is a plugin
// in one configuration; loading another is what a configuration push does. A Worker
// is what one thread has of a filter, and a Stream is a request on it.
//
// What it has to find in a filter that a mock does not:
//   - What several workers do at once: Process.Interleave switches between them at
//     the host calls that touch what they share, by a seed or in every order
//     (AllSchedules).
//   - What is left after a trap, a dead VM, a client that leaves, a push of another
//     configuration: Worker.TrapAtHostCall, Worker.Kill, Stream.Reset, Process.Load.
//   - Imports that the Envoy in production lacks (Compile), host calls that trap
//     while the module starts or allocates, and allocators: Envoy looks for malloc
//     first.
//   - Memory that grows (FlatMemory), host calls that cost time (Counts), metrics
//     without a bound (Process.Metrics).
//
// The rules follow Envoy 1.40 and proxy-wasm-cpp-host, read from their sources;
// README.md lists them, and what the package leaves out. The ABI is 0.2.1, or
// 0.2.0.
//
// A mistake of the test (a response without a request, two tasks in one VM) panics;
// what a guest does wrong never does.
package host
