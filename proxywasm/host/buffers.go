package host

import "slices"

// The buffers of proxy_get_buffer_bytes and its like.
const (
	requestBody = iota
	responseBody
	downstreamData
	upstreamData
	callResponseBody
	grpcMessage
	vmConfiguration
	pluginConfiguration
	callData
	bufferKinds
)

// buffer returns the bytes of a buffer now, nil where there is none, and whether a
// guest can change it.
func (c *wasmContext) buffer(kind uint32) (data *[]byte, writable bool) {
	root := c.root
	switch kind {
	case requestBody, responseBody:
		f := &[]byte{}
		if c.stream != nil {
			if view := c.stream.flow(kind == requestBody).view; view != nil {
				return view, true
			}
		}
		return f, false
	case callResponseBody:
		if root.answer != nil {
			return &root.answer.body, false
		}
		return nil, false
	case grpcMessage:
		if root.message != nil {
			return root.message, false
		}
	case vmConfiguration:
		return &c.vm.base.vm.Config, false
	case pluginConfiguration:
		if !c.configuring {
			return nil, false
		}
		return &c.plugin.Config, false
	}
	// Data of a connection and of a foreign function: none here.
	return &[]byte{}, false
}

func (c *call) buffer() (data *[]byte, writable bool, status Status) {
	kind := c.arg(0)
	if kind >= bufferKinds {
		return nil, false, BadArgument
	}
	if data, writable = c.context().buffer(kind); data == nil {
		return nil, false, NotFound
	}
	return data, writable, OK
}

func getBufferStatus(c *call) uint32 {
	data, _, status := c.buffer()
	if status == OK && (!c.put32(c.arg(1), uint32(len(*data))) || !c.put32(c.arg(2), 0)) {
		return uint32(InvalidMemoryAccess)
	}
	return uint32(status)
}

func getBufferBytes(c *call) uint32 {
	data, _, status := c.buffer()
	if status != OK {
		return uint32(status)
	}
	size := uint64(len(*data))
	start := min(uint64(c.arg(1)), size)
	end := min(start+uint64(c.arg(2)), size)
	return uint32(c.give(string((*data)[start:end]), 3))
}

// setBufferBytes puts data before a body, in its place or behind it; another range
// is BadArgument. Source: Buffer::copyFrom of Envoy.
func setBufferBytes(c *call) uint32 {
	data, writable, status := c.buffer()
	if status != OK {
		return uint32(status)
	}
	text, ok := c.text(3)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	start, length := uint64(c.arg(1)), uint64(c.arg(2))
	size := uint64(len(*data))
	switch {
	case !writable:
		return uint32(BadArgument)
	case start == 0 && length == 0:
		*data = slices.Concat([]byte(text), *data)
	case start == 0 && length >= size:
		*data = []byte(text)
	case start > 0 && start >= size:
		*data = append(*data, text...)
	default:
		return uint32(BadArgument)
	}
	return uint32(OK)
}
