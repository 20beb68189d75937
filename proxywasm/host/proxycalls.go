package host

import (
	"strings"
	"time"
)

// proxyImports are the functions of the module env.
func proxyImports() []hostImport {
	env := func(name, signature string, run func(*call) uint32) hostImport {
		return hostImport{module: "env", name: name, signature: signature, run: run}
	}
	shared := func(name, signature string, run func(*call) uint32) hostImport {
		i := env(name, signature, run)
		i.shared = true
		return i
	}
	level := env("proxy_get_log_level", "i:i", getLogLevel)
	level.abi = 21
	return []hostImport{
		env("proxy_log", "iii:i", logLine),
		level,
		env("proxy_get_status", "iii:i", getStatus),
		env("proxy_get_property", "iiii:i", getProperty),
		env("proxy_set_property", "iiii:i", setProperty),
		env("proxy_get_header_map_size", "ii:i", getHeaderMapSize),
		env("proxy_get_header_map_pairs", "iii:i", getHeaderMapPairs),
		env("proxy_set_header_map_pairs", "iii:i", setHeaderMapPairs),
		env("proxy_get_header_map_value", "iiiii:i", getHeaderMapValue),
		env("proxy_add_header_map_value", "iiiii:i", addHeaderMapValue),
		env("proxy_replace_header_map_value", "iiiii:i", replaceHeaderMapValue),
		env("proxy_remove_header_map_value", "iii:i", removeHeaderMapValue),
		env("proxy_get_buffer_status", "iii:i", getBufferStatus),
		env("proxy_get_buffer_bytes", "iiiii:i", getBufferBytes),
		env("proxy_set_buffer_bytes", "iiiii:i", setBufferBytes),
		env("proxy_continue_stream", "i:i", continueStream),
		env("proxy_close_stream", "i:i", closeStream),
		env("proxy_send_local_response", "iiiiiiii:i", sendLocalResponse),
		env("proxy_http_call", "iiiiiiiiii:i", startHTTPCall),
		env("proxy_grpc_call", "iiiiiiiiiiii:i", startGRPCCall),
		env("proxy_grpc_stream", "iiiiiiiii:i", startGRPCStream),
		env("proxy_grpc_send", "iiii:i", grpcSend),
		env("proxy_grpc_cancel", "i:i", grpcCancel),
		env("proxy_grpc_close", "i:i", grpcClose),
		shared("proxy_get_shared_data", "iiiii:i", getSharedData),
		shared("proxy_set_shared_data", "iiiii:i", setSharedData),
		shared("proxy_register_shared_queue", "iii:i", registerSharedQueue),
		shared("proxy_resolve_shared_queue", "iiiii:i", resolveSharedQueue),
		shared("proxy_enqueue_shared_queue", "iii:i", enqueueSharedQueue),
		shared("proxy_dequeue_shared_queue", "iii:i", dequeueSharedQueue),
		env("proxy_define_metric", "iiii:i", defineMetric),
		shared("proxy_increment_metric", "iI:i", incrementMetric),
		shared("proxy_record_metric", "iI:i", recordMetric),
		shared("proxy_get_metric", "ii:i", getMetric),
		env("proxy_set_tick_period_milliseconds", "i:i", setTickPeriod),
		shared("proxy_get_current_time_nanoseconds", "i:i", getCurrentTime),
		env("proxy_set_effective_context", "i:i", setEffectiveContext),
		env("proxy_done", ":i", func(c *call) uint32 { return uint32(c.vm.finishShutdown(c.context())) }),
		env("proxy_call_foreign_function", "iiiiii:i", callForeignFunction),
		env("pthread_equal", "ii:i", func(c *call) uint32 { return bit(c.arg(0) == c.arg(1)) }),
		env("emscripten_notify_memory_growth", "i:", func(*call) uint32 { return 0 }),
		env("envoy_resolve_dns", "iii:i", func(*call) uint32 { return uint32(Unimplemented) }),
	}
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// either is OK, or bad when a part of the call was not.
func either(ok bool, bad Status) uint32 {
	if !ok {
		return uint32(bad)
	}
	return uint32(OK)
}

func logLine(c *call) uint32 {
	level := Level(c.arg(0))
	if level > Critical {
		return uint32(BadArgument)
	}
	text, ok := c.text(1)
	if ok {
		c.log(level, text)
	}
	return either(ok, InvalidMemoryAccess)
}

func (c *call) log(level Level, text string) {
	line := LogLine{Level: level, Thread: c.vm.thread.number, Text: text}
	if plugin := c.context().plugin; plugin != nil {
		line.Plugin = plugin.Name
	}
	c.vm.process.log(line)
}

func getLogLevel(c *call) uint32 {
	return either(c.put32(c.arg(0), uint32(c.vm.process.level)), InvalidMemoryAccess)
}

func getStatus(c *call) uint32 {
	root := c.context().root
	if !c.put32(c.arg(0), root.status) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(c.give(root.statusMessage, 1))
}

// The maps of proxy_get_header_map_value and its like.
const (
	requestHeaders = iota
	requestTrailers
	responseHeaders
	responseTrailers
	grpcInitialMetadata
	grpcTrailingMetadata
	callResponseHeaders
	callResponseTrailers
	mapKinds
)

// readable is a map that can be read now, nil where there is none.
func (c *wasmContext) readable(kind uint32) *Headers {
	root := c.root
	switch {
	case kind <= responseTrailers:
		if c.stream != nil {
			return c.stream.readable(kind)
		}
	case kind == grpcInitialMetadata:
		return root.metadata
	case kind == grpcTrailingMetadata:
		return root.trailers
	case root.answer == nil:
	case kind == callResponseHeaders:
		return &root.answer.headers
	case root.answer.trailers != nil:
		return &root.answer.trailers
	}
	return nil
}

// writable is a map that can be changed now, nil where there is none.
func (c *wasmContext) writable(kind uint32) *Headers {
	if kind > responseTrailers || c.stream == nil {
		return nil
	}
	return c.stream.writable(kind)
}

func getHeaderMapSize(c *call) uint32 {
	kind := c.arg(0)
	if kind >= mapKinds {
		return uint32(BadArgument)
	}
	h := c.context().writable(kind)
	if h == nil {
		return uint32(BadArgument)
	}
	return either(c.put32(c.arg(1), uint32(h.byteSize())), InvalidMemoryAccess)
}

func getHeaderMapPairs(c *call) uint32 {
	kind := c.arg(0)
	if kind >= mapKinds {
		return uint32(BadArgument)
	}
	text := ""
	if h := c.context().readable(kind); h != nil && len(*h) > 0 {
		text = string(h.marshal())
	}
	return uint32(c.give(text, 1))
}

func setHeaderMapPairs(c *call) uint32 {
	kind := c.arg(0)
	if kind >= mapKinds {
		return uint32(BadArgument)
	}
	text, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	h := c.context().writable(kind)
	if h != nil {
		*h = unmarshal([]byte(text)).normal()
	}
	return either(h != nil, BadArgument)
}

func getHeaderMapValue(c *call) uint32 {
	kind := c.arg(0)
	if kind >= mapKinds {
		return uint32(BadArgument)
	}
	name, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	h := c.context().readable(kind)
	if h == nil {
		if s := c.context().stream; s != nil && s.logging {
			return uint32(NotFound)
		}
		return uint32(BadArgument)
	}
	value, ok := h.lookup(name)
	if !ok {
		return uint32(NotFound)
	}
	return uint32(c.give(value, 3))
}

// change reads the name in parameters 1 and 2 and changes the map.
func (c *call) change(do func(h *Headers, name string) bool) uint32 {
	kind := c.arg(0)
	if kind >= mapKinds {
		return uint32(BadArgument)
	}
	name, ok := c.text(1)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	h := c.context().writable(kind)
	if h == nil {
		return uint32(BadArgument)
	}
	return either(do(h, name), InvalidMemoryAccess)
}

// changeTo is change by a value.
func (c *call) changeTo(do func(h *Headers, name, value string)) uint32 {
	return c.change(func(h *Headers, name string) bool {
		value, ok := c.text(3)
		if ok {
			do(h, name, value)
		}
		return ok
	})
}

func addHeaderMapValue(c *call) uint32 { return c.changeTo((*Headers).add) }

func replaceHeaderMapValue(c *call) uint32 { return c.changeTo((*Headers).replace) }

func removeHeaderMapValue(c *call) uint32 {
	return c.change(func(h *Headers, name string) bool {
		h.remove(name)
		return true
	})
}

func setTickPeriod(c *call) uint32 {
	c.context().root.period = time.Duration(c.arg(0)) * time.Millisecond
	return uint32(OK)
}

func getCurrentTime(c *call) uint32 {
	wall, _ := c.vm.process.readClock()
	return either(c.put64(c.arg(0), wall), InvalidMemoryAccess)
}

func setEffectiveContext(c *call) uint32 {
	id := c.arg(0)
	if id != 0 && c.vm.contexts[id] == nil {
		return uint32(BadArgument)
	}
	c.vm.effective = id
	return uint32(OK)
}

func callForeignFunction(c *call) uint32 {
	name, ok := c.text(0)
	arguments, ok2 := c.text(2)
	if !ok || !ok2 {
		return uint32(InvalidMemoryAccess)
	}
	function := c.vm.process.foreign[name]
	if function == nil {
		return uint32(NotFound)
	}
	result, status := function([]byte(arguments))
	if given := c.give(string(result), 4); given != OK {
		return uint32(given)
	}
	return uint32(status)
}

// The kinds of proxy_continue_stream and proxy_close_stream.
const (
	requestStream = iota
	responseStream
	downstreamStream
	upstreamStream
	streamKinds
)

func continueStream(c *call) uint32 {
	kind := c.arg(0)
	switch {
	case kind >= streamKinds:
		return uint32(BadArgument)
	case kind == upstreamStream:
		return uint32(Unimplemented)
	}
	if s := c.context().stream; s != nil && kind != downstreamStream {
		f := &s.decode
		if kind == responseStream {
			f = &s.encode
		}
		c.vm.after = append(c.vm.after, func() { s.resume(f) })
		s.decode.forgetFrames()
	}
	return uint32(OK)
}

func closeStream(c *call) uint32 {
	kind := c.arg(0)
	if kind >= streamKinds {
		return uint32(BadArgument)
	}
	if s := c.context().stream; s != nil && kind <= responseStream {
		if s.details == "" {
			s.details = "wasm_close_stream"
		}
		c.vm.after = append(c.vm.after, s.resetStream)
	}
	return uint32(OK)
}

// blanks are what Envoy replaces in the details of a response.
var blanks = strings.NewReplacer(" ", "_", "\t", "_", "\f", "_", "\v", "_", "\n", "_", "\r", "_")

func sendLocalResponse(c *call) uint32 {
	details, ok := c.text(1)
	body, ok2 := c.text(3)
	headers, ok3 := c.text(5)
	if !ok || !ok2 || !ok3 {
		return uint32(InvalidMemoryAccess)
	}
	r := reply{
		status: int(c.arg(0)), body: body, headers: unmarshal([]byte(headers)),
		details: blanks.Replace(details), grpc: int32(c.arg(7)),
	}
	if s := c.context().stream; s != nil {
		c.vm.after = append(c.vm.after, func() { s.localReply(r) })
	}
	c.vm.stopped = true
	return uint32(OK)
}
