// Package envoy runs a real Envoy on loopback, for tests and measurements of filters.
//
// Start writes the configuration of one listener, its routes and its filters, starts the
// program that Binary installs with four workers, and waits until it is ready. Push
// replaces the configuration while it runs, by files that Envoy watches. An Upstream
// answers over HTTP/1.1, HTTP/2 without TLS and gRPC as a request asks for; Load sends
// requests over kept connections as fast as they are answered.
package envoy
