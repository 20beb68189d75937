//go:build tinygo

// Command guest is the filter of the tests: it does what its plugin configuration
// says. A line of it is a callback, a colon and operations separated by
// semicolons:
//
//	request_headers: header 0 :path; pause
//	tick: effective stream; resume 0
//
// Each operation logs itself, the status of the host call and what the call gave:
// "header 0 :path = 0 /". The word last is the last number that a host call gave,
// stream the id of the last stream, _ the empty text.
package main

import (
	"strconv"
	"strings"
	"unsafe"
)

// arena is the memory that malloc gives, used again in each callback.
var (
	arena [65536]byte
	used  uint32
)

//go:wasmexport malloc
func malloc(size uint32) ptr {
	size = (size + 7) &^ 7
	if size > uint32(len(arena))-used {
		return nil
	}
	used += size
	return unsafe.Pointer(&arena[used-size])
}

//go:wasmexport proxy_abi_version_0_2_1
func abiVersion() {}

var (
	// scripts are the lines of each root context, by its id and the callback.
	scripts = map[uint32]map[string]string{}
	// roots are the root contexts of streams.
	roots  = map[uint32]uint32{}
	last   uint64
	stream uint32
)

func root(context uint32) uint32 {
	if parent := roots[context]; parent != 0 {
		return parent
	}
	return context
}

//go:wasmexport proxy_on_context_create
func onContextCreate(context, parent uint32) {
	used = 0
	if parent != 0 {
		roots[context], stream = parent, context
	}
}

//go:wasmexport proxy_on_vm_start
func onVMStart(context, size uint32) uint32 {
	used = 0
	return bit(string(buffer(6, size)) != "refuse")
}

//go:wasmexport proxy_on_configure
func onConfigure(context, size uint32) uint32 {
	used = 0
	script := map[string]string{}
	for _, line := range strings.Split(string(buffer(7, size)), "\n") {
		callback, operations, _ := strings.Cut(line, ":")
		script[strings.TrimSpace(callback)] = operations
	}
	scripts[context] = script
	return run(context, "configure", 1)
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func buffer(kind, size uint32) []byte {
	var data ptr
	var length uint32
	if proxyGetBufferBytes(kind, 0, size, unsafe.Pointer(&data), unsafe.Pointer(&length)) != 0 {
		return nil
	}
	return unsafe.Slice((*byte)(data), length)
}

//go:wasmexport proxy_on_tick
func onTick(context uint32) { begin(context, "tick", 0) }

//go:wasmexport proxy_on_request_headers
func onRequestHeaders(context, size, end uint32) uint32 { return begin(context, "request_headers", 0) }

//go:wasmexport proxy_on_request_body
func onRequestBody(context, size, end uint32) uint32 {
	return sized(context, "request_body", size, end)
}

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(context, size uint32) uint32 { return begin(context, "request_trailers", 0) }

//go:wasmexport proxy_on_response_headers
func onResponseHeaders(context, size, end uint32) uint32 {
	return begin(context, "response_headers", 0)
}

//go:wasmexport proxy_on_response_body
func onResponseBody(context, size, end uint32) uint32 {
	return sized(context, "response_body", size, end)
}

//go:wasmexport proxy_on_response_trailers
func onResponseTrailers(context, size uint32) uint32 { return begin(context, "response_trailers", 0) }

//go:wasmexport proxy_on_http_call_response
func onHTTPCallResponse(context, id, headers, body, trailers uint32) {
	last = uint64(id)
	sized(context, "http_call_response", headers, body)
}

//go:wasmexport proxy_on_grpc_receive_initial_metadata
func onGRPCMetadata(context, id, size uint32) { sized(context, "grpc_metadata", id, size) }

//go:wasmexport proxy_on_grpc_receive_trailing_metadata
func onGRPCTrailers(context, id, size uint32) { sized(context, "grpc_trailers", id, size) }

//go:wasmexport proxy_on_grpc_receive
func onGRPCReceive(context, id, size uint32) { sized(context, "grpc_receive", id, size) }

//go:wasmexport proxy_on_grpc_close
func onGRPCClose(context, id, status uint32) { sized(context, "grpc_close", id, status) }

//go:wasmexport proxy_on_queue_ready
func onQueueReady(context, id uint32) {
	last = uint64(id)
	begin(context, "queue_ready", 0)
}

//go:wasmexport proxy_on_done
func onDone(context uint32) uint32 { return begin(context, "done", 1) }

//go:wasmexport proxy_on_log
func onLog(context uint32) { begin(context, "log", 0) }

//go:wasmexport proxy_on_delete
func onDelete(context uint32) {
	begin(context, "delete", 0)
	delete(roots, context)
	delete(scripts, context)
}

// sized logs two numbers of a callback that has a line.
func sized(context uint32, callback string, a, b uint32) uint32 {
	if scripts[root(context)][callback] != "" {
		used = 0
		say(2, callback+" "+text(uint64(a))+" "+text(uint64(b)))
	}
	return begin(context, callback, 0)
}

func begin(context uint32, callback string, result uint32) uint32 {
	used = 0
	return run(context, callback, result)
}

// run does the operations of a callback and returns its result.
func run(context uint32, callback string, result uint32) uint32 {
	operations := scripts[root(context)][callback]
	if operations == "" {
		return result
	}
	for _, operation := range strings.Split(operations, ";") {
		o := words(strings.Fields(operation))
		switch o.text(0) {
		case "":
		case "pause":
			result = 1
		case "return":
			result = o.number(1)
		case "trap":
			panic("trap")
		default:
			status, value := o.do()
			say(2, strings.TrimSpace(operation)+" = "+text(uint64(status))+" "+value)
		}
	}
	return result
}

func text(n uint64) string { return strconv.FormatUint(n, 10) }

func say(level uint32, line string) {
	proxyLog(level, unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}

// words are an operation and its arguments.
type words []string

func (w words) text(i int) string {
	if i >= len(w) || w[i] == "_" {
		return ""
	}
	return w[i]
}

func (w words) number(i int) uint32 { return uint32(w.long(i)) }

func (w words) long(i int) uint64 {
	switch w.text(i) {
	case "last":
		return last
	case "stream":
		return uint64(stream)
	}
	n, _ := strconv.ParseInt(w.text(i), 10, 64)
	return uint64(n)
}

// data is an argument's address and size; one of size 0 has an address too.
func (w words) data(i int) (ptr, uint32) { return raw(w.text(i)) }

func raw(s string) (ptr, uint32) {
	return unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))
}
