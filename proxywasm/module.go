// Package proxywasm holds the filter for Envoy and other proxies that have Proxy-Wasm, as
// a module: the policies of a document at the proxy, decided by the core that decides
// everywhere else. README.md in this folder says how it is used.
package proxywasm

import _ "embed"

// Module is the filter.
//
//go:embed sluice.wasm
var Module []byte
