// Package runner is the concurrent runner behind the public package at the root
// of the module: it takes calls through pipelines on their callers' goroutines,
// with locks, timers and contexts. It decides nothing: the cells and the plans of
// core decide. Package core/drive does the same on one thread for eval, the
// WebAssembly modules and the simulator.
//
// Requests, events, states and errors are the types of package api, which the
// public package has aliases of.
//
// A [Pipeline] binds a plan to cells. A call starts as a fastPath, which asks
// the cells under one lock and covers calls that every cell admits at once and
// whose function succeeds in time. On anything else a run takes the call over.
//
// Where to read: call.go is the way of a call, fastpath.go the fast one, host.go what a plan asks
// of the runner, cell.go the cells that all calls of a step share, keys.go the cells of keys.
package runner
