package host

import (
	"cmp"
	"strconv"
	"time"
)

// StreamOptions are what Envoy knows of a stream besides its frames.
type StreamOptions struct {
	// Source is the client's address and port. Default: 127.0.0.1:50000.
	Source string
	// Destination is Envoy's own. Default: 127.0.0.1:10000.
	Destination string
	// ConnectionID is the number of the connection. Default: 1.
	ConnectionID uint64
	// Protocol is HTTP/1.1, HTTP/2 and so on. Default: HTTP/1.1.
	Protocol string
	Route    Route
	// Properties are values by their path, as maps within maps; they go before
	// those that the host computes. A value is a string, []byte, bool, int, int64,
	// uint64, float64, time.Duration, time.Time, []any or map[string]any.
	Properties map[string]any
}

// Route is the route that Envoy chose.
type Route struct {
	Name        string
	VirtualHost string
	Cluster     string
	// Metadata is the filter_metadata by namespace. Numbers reach the guest as
	// float64, as in any protobuf Struct.
	Metadata map[string]map[string]any
}

// Message is a request that went upstream, or a response that went to the client.
type Message struct {
	Headers  Headers
	Body     []byte
	Trailers Headers
	// Complete says that the end of the stream went with it.
	Complete bool
}

// Status returns the status of a response, 0 for none.
func (m *Message) Status() int {
	if m == nil {
		return 0
	}
	status, err := strconv.Atoi(m.Headers.Value(":status"))
	if err != nil {
		return 0
	}
	return status
}

// Stream is a request and its response on a worker. The steps are what arrives at
// the filter: the request of the client and the response of the upstream. What the
// filter lets pass is in Upstream and in Response.
//
// As in Envoy the stream ends as soon as the response is complete: proxy_on_log,
// proxy_on_done and proxy_on_delete run, in this order.
type Stream struct {
	worker  *Worker
	options StreamOptions
	handle  *handle      // whose VM has the stream, nil without the filter
	context *wasmContext // nil without the filter
	decode  flow
	encode  flow

	began      time.Duration
	wall       time.Time
	state      map[string]string // of proxy_set_property
	details    string
	flags      uint64
	prepared   *reply // a local response that waits for the end of a request callback
	deciding   int    // request callbacks that run
	answering  int    // response callbacks that run
	lastFrame  bool   // the frame of the callback ends its message
	failed     bool   // the 503 for a dead VM was sent
	local      bool
	ended      bool
	reset      bool
	logging    bool
	hasStarted bool
}

// Stream prepares a stream; RequestHeaders begins it.
func (w *Worker) Stream(options StreamOptions) *Stream {
	options.Source = cmp.Or(options.Source, "127.0.0.1:50000")
	options.Destination = cmp.Or(options.Destination, "127.0.0.1:10000")
	options.ConnectionID = cmp.Or(options.ConnectionID, 1)
	options.Protocol = cmp.Or(options.Protocol, "HTTP/1.1")
	s := &Stream{worker: w, options: options, state: map[string]string{}}
	s.decode = flow{headersExport: "proxy_on_request_headers", bodyExport: "proxy_on_request_body", trailersExport: "proxy_on_request_trailers"}
	s.encode = flow{headersExport: "proxy_on_response_headers", bodyExport: "proxy_on_response_body", trailersExport: "proxy_on_response_trailers"}
	return s
}

// RequestHeaders begins the stream with the request headers of the client. The
// filter's VM is chosen now, and started anew where FailReload says so.
func (s *Stream) RequestHeaders(headers Headers, end bool) {
	if s.hasStarted {
		panic(misuse("RequestHeaders of a stream that has begun"))
	}
	s.hasStarted = true
	p := s.worker.filter.process
	s.began, s.wall = p.monotonic, p.wall
	s.worker.open(s)
	s.arriveHeaders(&s.decode, headers, end)
}

// RequestBody continues the request.
func (s *Stream) RequestBody(data []byte, end bool) {
	s.check(&s.decode)
	s.arriveBody(&s.decode, data, end)
}

// RequestTrailers ends the request.
func (s *Stream) RequestTrailers(trailers Headers) {
	s.check(&s.decode)
	s.arriveTrailers(&s.decode, trailers)
}

// ResponseHeaders begins the response of the upstream. The filter must have let
// the request headers pass; a stream that has ended ignores it.
func (s *Stream) ResponseHeaders(headers Headers, end bool) {
	if s.ended {
		return
	}
	if s.decode.out == nil {
		panic(misuse("a response of the upstream, which has no request"))
	}
	s.details = "via_upstream"
	s.arriveHeaders(&s.encode, headers, end)
}

// ResponseBody continues the response.
func (s *Stream) ResponseBody(data []byte, end bool) {
	s.check(&s.encode)
	s.arriveBody(&s.encode, data, end)
}

// ResponseTrailers ends the response.
func (s *Stream) ResponseTrailers(trailers Headers) {
	s.check(&s.encode)
	s.arriveTrailers(&s.encode, trailers)
}

func (s *Stream) check(f *flow) {
	switch {
	case s.ended:
	case !f.arrived:
		panic(misuse("a body or trailers before the headers"))
	case f.complete && !s.local:
		panic(misuse("a frame after the end"))
	}
}

// Flags of Envoy's stream info that the host sets. Source: ResponseFlag.
const (
	flagUpstreamReset   = 0x40   // UC
	flagDownstreamReset = 0x4000 // DC
)

// Reset is a client that leaves: the stream ends at once. It does nothing after
// the end.
func (s *Stream) Reset() {
	if !s.ended && s.hasStarted {
		s.flags |= flagDownstreamReset
		s.details = "downstream_remote_disconnect"
		s.reset = true
		s.finish()
	}
}

// Close ends a stream that has not ended, as Reset does, so that a test can defer
// it.
func (s *Stream) Close() { s.Reset() }

// ResetUpstream is an upstream that breaks the connection: Envoy answers 503
// through the filter, or resets the client's stream when it has the headers of the
// response already.
func (s *Stream) ResetUpstream() {
	if s.ended {
		return
	}
	s.flags |= flagUpstreamReset
	const details = "upstream_reset_before_response_started{connection_termination}"
	s.localReply(reply{
		status: 503, details: details, grpc: -1,
		body: "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
	})
}

// Upstream returns what went upstream, nil before the headers did.
func (s *Stream) Upstream() *Message { return s.decode.out }

// Response returns what went to the client, nil before the headers did.
func (s *Stream) Response() *Message { return s.encode.out }

// Ended says that the stream is over and its callbacks have run.
func (s *Stream) Ended() bool { return s.ended }

// WasReset says that the stream ended before its response was complete.
func (s *Stream) WasReset() bool { return s.reset }

// Local says that the response is Envoy's or the filter's own.
func (s *Stream) Local() bool { return s.local }

// Details returns the response code details, as access logs have them.
func (s *Stream) Details() string { return s.details }

// Paused says that the filter holds the request or the response.
func (s *Stream) Paused() bool {
	return !s.ended && (s.decode.iteration != flowing && s.encode.out == nil || s.encode.iteration != flowing)
}

// Bypassed says that the stream goes without the filter (FailOpen).
func (s *Stream) Bypassed() bool { return s.hasStarted && s.context == nil }

// ContextID returns the id that the guest knows the stream by, 0 for none.
func (s *Stream) ContextID() uint32 {
	if s.context == nil {
		return 0
	}
	return s.context.id
}

// open gives a new stream its context, as PluginConfig::createContext does.
func (w *Worker) open(s *Stream) {
	if w.filter.drained {
		panic(misuse("a new stream of a filter that is drained"))
	}
	if w.handle == nil {
		return
	}
	w.reload()
	plugin := w.filter.plugin
	if !w.handle.vm.alive() {
		if plugin.FailurePolicy != FailOpen {
			s.context = &wasmContext{plugin: plugin, stream: s, root: w.handle.root}
		}
		return
	}
	s.handle = w.handle
	s.handle.references++
	s.context = w.handle.vm.newContext(&wasmContext{plugin: plugin, stream: s, root: w.handle.root})
}

// reload replaces a dead VM where the policy says so.
func (w *Worker) reload() {
	p, plugin := w.filter.process, w.filter.plugin
	if w.handle.vm.alive() || plugin.FailurePolicy != FailReload || p.monotonic-w.loaded < plugin.ReloadBackoff {
		return
	}
	w.loaded = p.monotonic
	h, err := p.handle(w.thread, w.filter.base, plugin)
	switch {
	case err != nil:
		p.log(LogLine{Level: Error, Thread: w.thread.number, Plugin: plugin.Name, Text: "Wasm VM failed " + err.Error()})
	default:
		w.handle.release()
		w.handle = h
	}
}

// finish ends the stream.
func (s *Stream) finish() {
	if s.ended {
		return
	}
	s.ended = true
	c := s.context
	if c == nil || c.vm == nil {
		return
	}
	c.create()
	s.logging = true
	c.notify("proxy_on_log")
	s.logging = false
	c.done()
	c.remove()
	s.handle.release()
}

// resetStream ends the stream without a complete response.
func (s *Stream) resetStream() {
	if !s.ended {
		s.reset = true
		s.finish()
	}
}

func (s *Stream) flow(request bool) *flow {
	if request {
		return &s.decode
	}
	return &s.encode
}

// readable is Context::getConstMap: a map that a callback can read. The log sees
// all headers, the other callbacks only what their own side holds.
func (s *Stream) readable(kind uint32) *Headers {
	f := s.flow(kind <= requestTrailers)
	trailers := kind == requestTrailers || kind == responseTrailers
	switch {
	case s.logging && kind == requestTrailers:
		return nil
	case s.logging && trailers && f.hasTrailers:
		return &f.trailers
	case s.logging && !trailers && f.arrived:
		return &f.headers
	case s.logging:
		return nil
	case trailers && f.seesTrailers:
		return &f.trailers
	case !trailers && f.seesHeaders:
		return &f.headers
	}
	return nil
}

// writable is Context::getMap. Trailers can be added with the last frame of a body.
func (s *Stream) writable(kind uint32) *Headers {
	f := s.flow(kind <= requestTrailers)
	switch {
	case (kind == requestHeaders || kind == responseHeaders) && f.seesHeaders:
		return &f.headers
	case kind == requestHeaders || kind == responseHeaders:
		return nil
	case !f.seesTrailers && f.view != nil && s.lastFrame && !f.hasTrailers:
		f.hasTrailers, f.seesTrailers = true, true
		return &f.trailers
	case f.seesTrailers:
		return &f.trailers
	}
	return nil
}
