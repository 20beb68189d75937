package host

import (
	"slices"
	"strconv"
	"time"
)

// The kinds of call ids. Source: WasmBase::CalloutType.
const (
	httpCall uint32 = iota
	grpcCall
	grpcStream
	callMask uint32 = 3
)

// HTTPCall is a call that a guest made by proxy_http_call. A test answers it.
type HTTPCall struct {
	Worker   int // the thread, or Main
	Cluster  string
	Headers  Headers
	Body     []byte
	Trailers Headers
	Timeout  time.Duration // 0 for none

	id   uint32
	root *wasmContext
}

// httpAnswer is what proxy_on_http_call_response is about.
type httpAnswer struct {
	headers, trailers Headers
	body              []byte
}

// HTTPCalls returns the calls that wait for an answer, calls of the main thread
// first and of each thread in the order they were made.
func (p *Process) HTTPCalls() []*HTTPCall {
	return outstanding(p, func(c *wasmContext) []*HTTPCall { return c.calls })
}

// GRPCCalls returns the gRPC calls and streams that are open, in the same order.
func (p *Process) GRPCCalls() []*GRPCCall {
	return outstanding(p, func(c *wasmContext) []*GRPCCall { return c.grpcCalls })
}

func outstanding[T any](p *Process, of func(*wasmContext) []T) (all []T) {
	for _, v := range p.vms {
		for id := uint32(1); id <= v.lastID; id++ {
			if c := v.contexts[id]; c != nil && c.stream == nil {
				all = append(all, of(c)...)
			}
		}
	}
	return all
}

// cancelCalls drops the calls of a root that ends.
func (c *wasmContext) cancelCalls() { c.calls, c.grpcCalls = nil, nil }

// Reply answers the call; the root context gets proxy_on_http_call_response. A
// call that was answered or cancelled gets nothing.
func (c *HTTPCall) Reply(headers Headers, body []byte, trailers Headers) {
	if !c.take() {
		return
	}
	c.root.answer = &httpAnswer{headers.normal(), trailers.normal(), body}
	c.root.vm.after = append(c.root.vm.after, func() { c.root.answer = nil })
	c.finish(uint64(len(headers)), uint64(len(body)), uint64(len(trailers)))
}

// TimeOut answers the call as Envoy does when its timeout passes: by a response of
// its own, 504.
func (c *HTTPCall) TimeOut() { c.own(504, "upstream request timeout") }

// Unreachable answers the call as Envoy does when it has no healthy upstream: by a
// response of its own, 503.
func (c *HTTPCall) Unreachable() { c.own(503, "no healthy upstream") }

func (c *HTTPCall) own(status int, body string) {
	c.Reply(Answer(status, "content-length", strconv.Itoa(len(body)), "content-type", "text/plain"), []byte(body), nil)
}

// Fail ends the call without a response, as a reset of the stream does: the number
// of headers is 0.
func (c *HTTPCall) Fail() {
	if !c.take() {
		return
	}
	c.root.status, c.root.statusMessage = uint32(BrokenConnection), "reset"
	c.root.vm.after = append(c.root.vm.after, func() { c.root.statusMessage = "" })
	c.finish(0, 0, 0)
}

func (c *HTTPCall) take() bool {
	at := slices.Index(c.root.calls, c)
	if at >= 0 {
		c.root.calls = slices.Delete(c.root.calls, at, at+1)
	}
	return at >= 0
}

func (c *HTTPCall) finish(headers, body, trailers uint64) {
	c.root.notify("proxy_on_http_call_response", uint64(c.id), headers, body, trailers)
	c.root.vm.afterCall()
}

// GRPCCall is a call that a guest made by proxy_grpc_call, or a stream that it
// opened by proxy_grpc_stream. A test answers it.
type GRPCCall struct {
	Worker   int // the thread, or Main
	Upstream string
	Service  string
	Method   string
	Metadata Headers
	Stream   bool
	Timeout  time.Duration // 0 for none and for streams
	// Sent are the messages: one for a call, those so far for a stream.
	Sent []([]byte)
	// HalfClosed says that the guest has closed its side of a stream.
	HalfClosed bool

	id     uint32
	root   *wasmContext
	closed bool // by the upstream
}

func (c *GRPCCall) open() bool { return slices.Contains(c.root.grpcCalls, c) }

func (c *GRPCCall) drop() {
	c.root.grpcCalls = slices.DeleteFunc(c.root.grpcCalls, func(other *GRPCCall) bool { return other == c })
}

// InitialMetadata sends the metadata before the first message of a stream.
func (c *GRPCCall) InitialMetadata(metadata Headers) {
	if c.open() && c.Stream {
		metadata = metadata.normal()
		c.root.metadata = &metadata
		c.root.notify("proxy_on_grpc_receive_initial_metadata", uint64(c.id), uint64(len(metadata)))
		c.root.metadata = nil
	}
}

// Receive sends a message to the guest: the successful end of a call, or one
// message of a stream.
func (c *GRPCCall) Receive(message []byte) {
	if !c.open() {
		return
	}
	c.root.message = &message
	c.root.vm.after = append(c.root.vm.after, func() {
		c.root.message = nil
		if !c.Stream {
			c.drop()
		}
	})
	c.root.notify("proxy_on_grpc_receive", uint64(c.id), uint64(len(message)))
	c.root.vm.afterCall()
}

// TrailingMetadata sends the metadata after the last message of a stream.
func (c *GRPCCall) TrailingMetadata(metadata Headers) {
	if c.open() && c.Stream {
		metadata = metadata.normal()
		c.root.trailers = &metadata
		c.root.notify("proxy_on_grpc_receive_trailing_metadata", uint64(c.id), uint64(len(metadata)))
		c.root.trailers = nil
	}
}

// Close ends the call or the upstream's side of the stream with a gRPC status. A
// call that succeeds has no Close: its message is its end.
func (c *GRPCCall) Close(status uint32, message string) {
	if !c.open() || c.closed {
		return
	}
	c.closed = true
	c.root.status, c.root.statusMessage = status, message
	c.root.vm.after = append(c.root.vm.after, func() {
		c.root.statusMessage = ""
		if !c.Stream || c.HalfClosed {
			c.drop()
		}
	})
	c.root.notify("proxy_on_grpc_close", uint64(c.id), uint64(status))
	c.root.vm.afterCall()
}

func (v *vm) nextCall(kind uint32) uint32 {
	v.callID[kind] += callMask + 1
	return v.callID[kind]
}

func startHTTPCall(c *call) uint32 {
	root := c.context().root
	cluster, ok1 := c.text(0)
	headers, ok2 := c.text(2)
	body, ok3 := c.text(4)
	trailers, ok4 := c.text(6)
	if !ok1 || !ok2 || !ok3 || !ok4 || !c.put32(c.arg(9), 0) {
		return uint32(InvalidMemoryAccess)
	}
	timeout := int32(c.arg(8))
	h := unmarshal([]byte(headers)).normal()
	for _, name := range []string{":path", ":method", ":authority"} {
		if _, ok := h.lookup(name); !ok {
			return uint32(BadArgument)
		}
	}
	if timeout < 0 || !c.vm.process.clusters[cluster] {
		return uint32(BadArgument)
	}
	if body != "" {
		h.replace("content-length", strconv.Itoa(len(body)))
	}
	made := &HTTPCall{
		Worker: c.vm.thread.number, Cluster: cluster, Headers: h, Body: []byte(body), Trailers: unmarshal([]byte(trailers)).normal(),
		Timeout: time.Duration(timeout) * time.Millisecond, id: c.vm.nextCall(httpCall), root: root,
	}
	root.calls = append(root.calls, made)
	c.put32(c.arg(9), made.id)
	return uint32(OK)
}

func startGRPCCall(c *call) uint32   { return startGRPC(c, grpcCall) }
func startGRPCStream(c *call) uint32 { return startGRPC(c, grpcStream) }

func startGRPC(c *call, kind uint32) uint32 {
	var texts [4]string
	for i := range texts {
		var ok bool
		if texts[i], ok = c.text(2 * i); !ok {
			return uint32(InvalidMemoryAccess)
		}
	}
	made := &GRPCCall{
		Worker: c.vm.thread.number, Upstream: texts[0], Service: texts[1], Method: texts[2],
		Metadata: unmarshal([]byte(texts[3])).normal(), Stream: kind == grpcStream, root: c.context().root,
	}
	result := c.arg(8)
	if kind == grpcCall {
		message, ok := c.text(8)
		if !ok {
			return uint32(InvalidMemoryAccess)
		}
		made.Sent = [][]byte{[]byte(message)}
		made.Timeout = time.Duration(c.arg(10)) * time.Millisecond
		result = c.arg(11)
	}
	if !c.vm.process.clusters[made.Upstream] {
		return uint32(ParseFailure)
	}
	made.id = c.vm.nextCall(kind)
	made.root.grpcCalls = append(made.root.grpcCalls, made)
	if !c.put32(result, made.id) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(OK)
}

// grpc finds the open call of an id.
func (c *call) grpc(id uint32) (*GRPCCall, Status) {
	if id&callMask != grpcCall && id&callMask != grpcStream {
		return nil, BadArgument
	}
	for _, open := range c.context().root.grpcCalls {
		if open.id == id {
			return open, OK
		}
	}
	return nil, NotFound
}

func grpcSend(c *call) uint32 {
	message, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	if c.arg(0)&callMask != grpcStream {
		return uint32(BadArgument)
	}
	open, status := c.grpc(c.arg(0))
	if status == OK {
		open.Sent = append(open.Sent, []byte(message))
		open.HalfClosed = open.HalfClosed || c.arg(3) != 0
	}
	return uint32(status)
}

func grpcCancel(c *call) uint32 {
	open, status := c.grpc(c.arg(0))
	if status == OK {
		open.drop()
	}
	return uint32(status)
}

func grpcClose(c *call) uint32 {
	open, status := c.grpc(c.arg(0))
	if status == OK {
		open.HalfClosed = true
		if !open.Stream || open.closed {
			open.drop()
		}
	}
	return uint32(status)
}
