// Package scenarios tests the filter in a real Envoy with four workers: what only the
// proxy itself can show. It has tests alone.
package scenarios
