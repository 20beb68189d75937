//go:build wasm || tinygo.wasm

// Command abi is a filter that calls every function of package abi and logs what it
// answers. The path of a request says what happens to it.
package main

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/sluice-go/sluice/proxywasm/abi"
)

func main() {}

func say(values ...any) { abi.Log(abi.Info, fmt.Sprintln(values...)) }

// text is a value of the host as text, with whether there is one.
func text(value []byte, ok any) string { return fmt.Sprintf("%q %v", value, ok) }

//go:wasmexport proxy_abi_version_0_2_1
func version() {}

//go:wasmexport malloc
func allocate(size uint32) unsafe.Pointer { return abi.Allocate(size) }

//go:wasmexport proxy_on_context_create
func create(_, _ uint32) { abi.Enter() }

var stream, root uint32

//go:wasmexport proxy_on_configure
func configure(id, size uint32) uint32 {
	abi.Enter()
	root = id
	say("level", abi.LogLevel())
	part, status := abi.Buffer(abi.PluginConfiguration, 2, 3)
	say("configuration", size, text(part, status))
	for range 3 {
		// Each is more than half of the arena.
		abi.Reclaim()
		part, status = abi.Buffer(abi.PluginConfiguration, 0, 40_000)
		say("long", len(part), status)
	}
	part, status = abi.Buffer(abi.PluginConfiguration, 0, 40_000)
	say("no room", len(part), status)
	say("tick", abi.SetTick(7))
	for kind, name := range []string{"counter", "gauge", "histogram"} {
		metric, status := abi.DefineMetric(abi.MetricKind(kind), name)
		add, record := metric.Add(3), metric.Record(5)
		value, got := metric.Value()
		say("metric", name, status, add, record, value, got)
	}
	_, status = abi.DefineMetric(9, "none")
	say("metric none", status)
	return 1
}

//go:wasmexport proxy_on_request_headers
func requestHeaders(id, count, _ uint32) uint32 {
	abi.Enter()
	stream = id
	path, _ := abi.Header(abi.RequestHeaders, ":path")
	switch string(path) {
	case "/respond", "/respond/grpc":
		reply := abi.Reply{Status: 418, Details: "teapot", Body: "tea", Headers: abi.AppendPairs(nil, "x-tea", "green", "x-cup", ""), GRPC: abi.NoGRPC}
		if string(path) == "/respond/grpc" {
			reply.GRPC = 5
		}
		say("respond", abi.Respond(&reply))
		return uint32(abi.Pause)
	case "/pause":
		return uint32(abi.Pause)
	case "/close":
		say("close", abi.Close(abi.Downstream), abi.Close(abi.Response))
		return uint32(abi.Pause)
	case "/call":
		m := abi.Message{Upstream: "auth", Headers: abi.AppendPairs(nil, ":method", "POST", ":path", "/check", ":authority", "auth"),
			Body: []byte("who"), Trailers: abi.AppendPairs(nil, "x-end", "1"), Timeout: 500}
		_, status := abi.Call(&m)
		say("call", status)
		m.Headers = abi.AppendPairs(nil, "x-meta", "1")
		_, status = abi.CallGRPC(&m, "pkg.Service", "Method")
		say("call grpc", status)
		m.Upstream = "none"
		_, status = abi.Call(&m)
		say("call none", status)
		_, status = abi.CallGRPC(&m, "pkg.Service", "Method")
		say("call grpc none", status)
		return uint32(abi.Continue)
	case "/shared":
		shared()
		return uint32(abi.Continue)
	}
	say("headers", count)
	say("tenant", text(abi.Header(abi.RequestHeaders, "x-tenant")))
	say("absent", text(abi.Header(abi.RequestHeaders, "x-absent")))
	say("add", abi.AddHeader(abi.RequestHeaders, "x-new", "1"), abi.AddHeader(abi.RequestHeaders, "x-new", "2"))
	say("set", abi.SetHeader(abi.RequestHeaders, "x-tenant", "b"))
	say("remove", abi.RemoveHeader(abi.RequestHeaders, "x-gone"))
	pairs, status := abi.Headers(abi.RequestHeaders)
	var lines []string
	abi.Pairs(pairs, func(name, value []byte) bool {
		lines = append(lines, string(name)+"="+string(value))
		return len(lines) < 6
	})
	say("headers", status, strings.Join(lines, " "))
	pairs, status = abi.Headers(abi.RequestTrailers)
	abi.Pairs(pairs, func(_, _ []byte) bool {
		say("a trailer")
		return true
	})
	say("trailers", len(pairs), status)
	say("address", text(abi.Property("source\x00address")))
	say("no property", text(abi.Property("source\x00none")))
	say("set property", abi.SetProperty("mine", []byte("value")))
	say("property", text(abi.Property("mine")))
	say("times", abi.Now(), abi.Wall())
	say("context", abi.SetContext(id), abi.SetContext(99))
	return uint32(abi.Continue)
}

func shared() {
	key := []byte("key")
	value, cas, status := abi.Shared(key)
	say("absent", text(value, status), cas)
	say("create", abi.SetShared(key, []byte("one"), abi.Absent))
	say("create again", abi.SetShared(key, []byte("two"), abi.Absent))
	value, cas, status = abi.Shared(key)
	say("there", text(value, status), cas)
	say("replace", abi.SetShared(key, nil, cas))
	say("replace again", abi.SetShared(key, []byte("two"), cas))
	value, _, status = abi.Shared(key)
	say("empty", text(value, status))
	say("overwrite", abi.SetShared(key, []byte("three"), 0))
}

//go:wasmexport proxy_on_request_body
func requestBody(_, size, _ uint32) uint32 {
	abi.Enter()
	part, status := abi.Buffer(abi.RequestBody, 1, 2)
	say("body", size, text(part, status))
	say("set body", abi.SetBuffer(abi.RequestBody, 0, size, []byte("new")), abi.SetBuffer(abi.RequestBody, 99, 0, []byte("end")))
	return uint32(abi.Continue)
}

//go:wasmexport proxy_on_response_headers
func responseHeaders(_, _, _ uint32) uint32 {
	abi.Enter()
	status, _ := abi.Header(abi.ResponseHeaders, ":status")
	if _, refused := abi.Header(abi.ResponseHeaders, "grpc-status"); refused || string(status) != "200" {
		return uint32(abi.Continue)
	}
	say("set headers", abi.SetHeaders(abi.ResponseHeaders, abi.AppendPairs(nil, ":status", "201", "x-a", "b", "x-empty", "")))
	return uint32(abi.Continue)
}

//go:wasmexport proxy_on_tick
func tick(_ uint32) {
	abi.Enter()
	say("resume", abi.SetContext(stream), abi.Resume(abi.Request), abi.SetContext(root))
}

//go:wasmexport proxy_on_http_call_response
func callResponse(_, _, _, _, _ uint32) {
	abi.Enter()
	body, status := abi.Buffer(abi.CallBody, 0, 99)
	say("response", text(abi.Header(abi.CallHeaders, ":status")), text(body, status), text(abi.Header(abi.CallTrailers, "x-end")))
}

//go:wasmexport proxy_on_grpc_receive
func receive(_, _, _ uint32) {
	abi.Enter()
	message, status := abi.Buffer(abi.GRPCMessage, 0, 99)
	say("message", text(message, status))
}
