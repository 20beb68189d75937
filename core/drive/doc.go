// Package drive is the single-threaded driver: it runs the calls of a policy and the
// cells of its steps in virtual time. It reads no clock, does not block and starts no
// goroutine; eval, the simulator and the wasm module give it events with their marks,
// and read decisions. Package pipeline takes a call through its steps; the driver
// keeps calls, cells by key, and wakes.
//
// All wakes are in one heap, in the order of the mark, then of the class:
//
//	ends      timeouts and waits, call by call, the outermost step first
//	leases    call by call
//	breakers  changes of state
//	serves    queues, from the outermost step inwards
//	resumes   attempts and hedges, call by call
//	injects   ends of injected latency and injected results, call by call
//
// so that at one mark all ends come before what begins.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - G1: equal policies, seeds and events give equal decisions.
//   - G3: an event before the last mark counts as at the last mark.
//   - G10: its memory is bounded by the live calls, the keys of each step and the
//     queues of the policy.
//   - G12: the last decision of a call says so, and nothing follows it.
//   - G16, L14: reconfigured, cells are matched by the names of their steps; cells of
//     different keys are independent.
//   - G23: a new key gets a cell, whatever keys were used before it; evictions are
//     counted.
//
// Source: eval/REFERENCE.md#the-order-at-one-mark.
package drive
