// Package filtertest tests the filter of proxywasm/sluice.wasm on the host of
// proxywasm/host: what workers do at once in every order, what time and failures bring,
// and what the filter costs. It has tests alone; those in a real Envoy are in
// proxywasm/scenarios.
package filtertest
