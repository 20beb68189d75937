// Package filter applies a policy document to the requests of a proxy: it is the filter
// of proxywasm/sluice.wasm. It translates callbacks of the proxy into actions of the core
// and effects of the core into calls of the proxy, and decides nothing itself.
//
// A VM has one root for each plugin configuration, which is a policy document in JSON.
// A root has an engine for each policy. The engine of `proxy: {state: process}` keeps
// the cells in values that all workers share, see package shared; the engine of
// `state: worker` has cells of its own, as in every other runtime.
package filter
