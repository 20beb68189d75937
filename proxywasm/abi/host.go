package abi

import (
	"encoding/binary"
	"unsafe"
)

// Log writes a line to the log of the proxy.
func Log(level Level, text string) { proxyLog(uint32(level), data(text), size(text)) }

// LogLevel returns the least level that the proxy logs.
func LogLevel() Level {
	var level uint32
	proxyGetLogLevel(unsafe.Pointer(&level))
	return Level(level)
}

// Property returns an attribute of the proxy, the names of its path separated by NUL, as
// in "source\x00address". It returns false where there is none. Numbers take 8 bytes,
// little-endian, booleans one.
func Property(path string) ([]byte, bool) {
	var r returned
	status := proxyGetProperty(data(path), size(path), unsafe.Pointer(&r.at), unsafe.Pointer(&r.size))
	return r.bytes(), Status(status) == OK
}

// SetProperty sets an attribute of the stream, which other filters see under the prefix
// wasm.
func SetProperty(path string, value []byte) Status {
	return Status(proxySetProperty(data(path), size(path), data(value), size(value)))
}

// Header returns the value of a header field, of several lines the first one, and false
// where there is none. The name is in lower case.
func Header(m Map, name string) ([]byte, bool) {
	var r returned
	status := proxyGetHeaderMapValue(uint32(m), data(name), size(name), unsafe.Pointer(&r.at), unsafe.Pointer(&r.size))
	return r.bytes(), Status(status) == OK
}

// AddHeader adds a line of a header field.
func AddHeader(m Map, name, value string) Status {
	return Status(proxyAddHeaderMapValue(uint32(m), data(name), size(name), data(value), size(value)))
}

// SetHeader replaces all lines of a header field by one.
func SetHeader(m Map, name, value string) Status {
	return Status(proxyReplaceHeaderMapValue(uint32(m), data(name), size(name), data(value), size(value)))
}

// RemoveHeader removes all lines of a header field.
func RemoveHeader(m Map, name string) Status {
	return Status(proxyRemoveHeaderMapValue(uint32(m), data(name), size(name)))
}

// Headers returns the lines of a map in the form of AppendPairs, for Pairs.
func Headers(m Map) ([]byte, Status) {
	var r returned
	status := proxyGetHeaderMapPairs(uint32(m), unsafe.Pointer(&r.at), unsafe.Pointer(&r.size))
	return r.bytes(), Status(status)
}

// SetHeaders replaces all lines of a map by pairs in the form of AppendPairs.
func SetHeaders(m Map, pairs []byte) Status {
	return Status(proxySetHeaderMapPairs(uint32(m), data(pairs), size(pairs)))
}

// Buffer returns at most so many bytes of a buffer from a place on.
func Buffer(b BufferKind, start, most uint32) ([]byte, Status) {
	var r returned
	status := proxyGetBufferBytes(uint32(b), start, most, unsafe.Pointer(&r.at), unsafe.Pointer(&r.size))
	return r.bytes(), Status(status)
}

// SetBuffer replaces so many bytes of a buffer from a place on.
func SetBuffer(b BufferKind, start, most uint32, bytes []byte) Status {
	return Status(proxySetBufferBytes(uint32(b), start, most, data(bytes), size(bytes)))
}

// Resume continues a direction of the effective stream that a callback paused.
func Resume(s Stream) Status { return Status(proxyContinueStream(uint32(s))) }

// Close resets a direction of the effective stream.
func Close(s Stream) Status { return Status(proxyCloseStream(uint32(s))) }

// NoGRPC is the GRPC of a Reply that leaves its status of gRPC to the proxy.
const NoGRPC = -1

// Reply is an answer of the filter itself.
type Reply struct {
	Status uint32
	// Details are for the log of the proxy.
	Details string
	Body    string
	// Headers are in the form of AppendPairs.
	Headers []byte
	// GRPC is the status for a request of gRPC, or NoGRPC.
	GRPC int32
}

// Respond answers the effective stream in place of the upstream. The callback returns
// Pause.
func Respond(r *Reply) Status {
	return Status(proxySendLocalResponse(r.Status, data(r.Details), size(r.Details), data(r.Body), size(r.Body), data(r.Headers), size(r.Headers), r.GRPC))
}

// Message is a request of the filter to another service. Headers and Trailers are in the
// form of AppendPairs.
type Message struct {
	// Upstream is the name of a cluster.
	Upstream                string
	Headers, Body, Trailers []byte
	// Timeout in milliseconds.
	Timeout uint32
}

// Call sends a request over HTTP and returns the id with which
// proxy_on_http_call_response is called.
func Call(m *Message) (id uint32, status Status) {
	status = Status(proxyHTTPCall(data(m.Upstream), size(m.Upstream), data(m.Headers), size(m.Headers), data(m.Body), size(m.Body), data(m.Trailers), size(m.Trailers), m.Timeout, unsafe.Pointer(&id)))
	return id, status
}

// CallGRPC calls a method of a service of gRPC, with the headers as metadata and the body
// as the message, and returns the id with which proxy_on_grpc_receive and
// proxy_on_grpc_close are called. It sends no trailers.
func CallGRPC(m *Message, service, method string) (id uint32, status Status) {
	status = Status(proxyGRPCCall(data(m.Upstream), size(m.Upstream), data(service), size(service), data(method), size(method), data(m.Headers), size(m.Headers), data(m.Body), size(m.Body), m.Timeout, unsafe.Pointer(&id)))
	return id, status
}

// Absent is a mark of change that no value has: SetShared with it creates a value, and
// fails where there is one. The host sets a value that is absent whatever the mark is,
// and one that is there without a comparison where the mark is 0.
const Absent = 1<<32 - 1

// Shared returns a value that all VMs of the same id share, with its mark of change. It
// returns NotFound where there is none.
func Shared(key []byte) (value []byte, cas uint32, status Status) {
	var r returned
	status = Status(proxyGetSharedData(data(key), size(key), unsafe.Pointer(&r.at), unsafe.Pointer(&r.size), unsafe.Pointer(&cas)))
	return r.bytes(), cas, status
}

// SetShared replaces a shared value that has not changed since the mark of change was
// read, otherwise it returns Mismatch.
func SetShared(key, value []byte, cas uint32) Status {
	return Status(proxySetSharedData(data(key), size(key), data(value), size(value), cas))
}

// Metric is the id of a metric of the proxy.
type Metric uint32

// DefineMetric returns the metric of a name, the same for all VMs.
func DefineMetric(kind MetricKind, name string) (m Metric, status Status) {
	status = Status(proxyDefineMetric(uint32(kind), data(name), size(name), unsafe.Pointer(&m)))
	return m, status
}

// Add adds to a counter or a gauge. To a counter only more than 0 can be added.
func (m Metric) Add(by int64) Status { return Status(proxyIncrementMetric(uint32(m), by)) }

// Record sets a gauge, adds to a counter, and enters a value in a histogram.
func (m Metric) Record(value uint64) Status { return Status(proxyRecordMetric(uint32(m), value)) }

// Value returns the value of a counter or a gauge.
func (m Metric) Value() (value uint64, status Status) {
	status = Status(proxyGetMetric(uint32(m), unsafe.Pointer(&value)))
	return value, status
}

// SetTick makes the host call proxy_on_tick of the root context with a period in
// milliseconds, never for 0.
func SetTick(milliseconds uint32) Status { return Status(proxySetTickPeriod(milliseconds)) }

// SetContext makes a context the effective one: calls about a stream are about it.
func SetContext(id uint32) Status { return Status(proxySetEffectiveContext(id)) }

// monotonic is the clock of WASI that does not jump.
const monotonic = 1

// Now returns the mark of the host's monotonic clock in nanoseconds. In Envoy all workers
// have the same clock.
func Now() int64 {
	var now int64
	clockTimeGet(monotonic, 1, unsafe.Pointer(&now))
	return now
}

// Wall returns the wall time in nanoseconds since 1970.
func Wall() int64 {
	var now int64
	proxyGetCurrentTime(unsafe.Pointer(&now))
	return now
}

// AppendPairs appends names and values of header fields, in turns, in the form in which
// the host takes a map. It is called once for a map.
func AppendPairs(dst []byte, fields ...string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(fields)/2))
	for _, text := range fields {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(text)))
	}
	for _, text := range fields {
		dst = append(append(dst, text...), 0)
	}
	return dst
}

// Pairs calls f with each line of a map, as Headers returns it, until f returns false.
func Pairs(pairs []byte, f func(name, value []byte) bool) {
	if len(pairs) < 4 {
		return
	}
	count := binary.LittleEndian.Uint32(pairs)
	sizes := pairs[4:]
	if uint64(len(sizes)) < 8*uint64(count) {
		return
	}
	texts := sizes[8*count:]
	next := func() ([]byte, bool) {
		n := binary.LittleEndian.Uint32(sizes)
		sizes = sizes[4:]
		if uint64(n) >= uint64(len(texts)) {
			return nil, false
		}
		text := texts[:n:n]
		texts = texts[n+1:]
		return text, true
	}
	for range count {
		name, ok := next()
		if !ok {
			return
		}
		value, ok := next()
		if !ok || !f(name, value) {
			return
		}
	}
}
