//go:build wasm || tinygo.wasm

// Command entry is the filter as a module of Proxy-Wasm, proxywasm/sluice.wasm. It
// exports the callbacks that the filter needs and no others, because the proxy pays for
// each one.
package main

import (
	"unsafe"

	"github.com/sluice-go/sluice/proxywasm/abi"
	"github.com/sluice-go/sluice/proxywasm/filter"
)

var vm filter.VM

func main() {}

// enter begins a callback.
func enter() {
	collect()
	abi.Enter()
}

//go:wasmexport proxy_abi_version_0_2_1
func version() {}

//go:wasmexport malloc
func allocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func create(id, parent uint32) {
	vm.Create(id, parent)
}

//go:wasmexport proxy_on_configure
func configure(id, size uint32) uint32 {
	enter()
	if vm.Configure(id, size) {
		return 1
	}
	return 0
}

//go:wasmexport proxy_on_request_headers
func requestHeaders(id, _, _ uint32) uint32 {
	enter()
	return uint32(vm.RequestHeaders(id))
}

//go:wasmexport proxy_on_response_headers
func responseHeaders(id, _, _ uint32) uint32 {
	enter()
	return uint32(vm.ResponseHeaders(id))
}

//go:wasmexport proxy_on_log
func log(id uint32) {
	enter()
	vm.Log(id)
}

//go:wasmexport proxy_on_tick
func tick(id uint32) {
	enter()
	vm.Tick(id)
}
