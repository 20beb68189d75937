// Package scenarios tests the filter in a real Envoy with four workers: what only the
// proxy itself can show, and the scenarios of package exchanges, which
// proxywasm/host/filtertest plays on a host without a proxy. It has tests alone.
package scenarios
