package host

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

func getProperty(c *call) uint32 {
	text, ok := c.text(0)
	if !ok {
		return uint32(InvalidMemoryAccess)
	}
	path := strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
	if text == "" {
		return uint32(SerializationFailure)
	}
	value, ok := c.context().property(path)
	if !ok {
		return uint32(NotFound)
	}
	bytes, ok := serialize(value)
	if !ok {
		return uint32(SerializationFailure)
	}
	return uint32(c.give(bytes, 2))
}

func setProperty(c *call) uint32 {
	path, ok := c.text(0)
	value, ok2 := c.text(2)
	if !ok || !ok2 {
		return uint32(InvalidMemoryAccess)
	}
	s := c.context().stream
	if s == nil {
		return uint32(NotFound)
	}
	s.state["wasm."+path] = value
	return uint32(OK)
}

// property finds a value: values of the test first, then what Envoy would compute.
func (c *wasmContext) property(path []string) (any, bool) {
	if s := c.stream; s != nil {
		if value, ok := descend(map[string]any(s.options.Properties), path); ok {
			return value, true
		}
		if value, ok := descend(s.attribute(path[0]), path[1:]); ok {
			return value, true
		}
	}
	if len(path) > 1 {
		return nil, false
	}
	switch {
	case path[0] == "plugin_name" && c.plugin != nil:
		return c.plugin.Name, true
	case path[0] == "plugin_root_id":
		if c.plugin == nil {
			return "", true
		}
		return c.plugin.RootID, true
	case path[0] == "plugin_vm_id":
		return c.vm.base.vm.ID, true
	case c.stream != nil:
		value, ok := c.stream.state["wasm."+path[0]]
		return value, ok
	}
	return nil, false
}

// descend follows a path through maps and lists.
func descend(value any, path []string) (any, bool) {
	for _, part := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			at, err := strconv.Atoi(part)
			if err != nil || at < 0 || at >= len(v) {
				return nil, false
			}
			value = v[at]
		case headersMap:
			next, ok := Headers(v).joined(part)
			if !ok {
				return nil, false
			}
			value = next
		default:
			return nil, false
		}
	}
	return value, value != nil
}

// headersMap is a header map as a property.
type headersMap Headers

// attribute is a top-level name. Source: context.cc of Envoy's CEL attributes.
func (s *Stream) attribute(name string) any {
	switch name {
	case "request":
		return s.requestAttributes()
	case "response":
		return s.responseAttributes()
	case "source":
		return address(s.options.Source)
	case "destination":
		return address(s.options.Destination)
	case "connection":
		return map[string]any{"id": s.options.ConnectionID, "mtls": false, "requested_server_name": ""}
	case "connection_id":
		return s.options.ConnectionID
	case "xds":
		return s.xds()
	case "filter_state":
		state := map[string]any{}
		for key, value := range s.state {
			state[key] = value
		}
		return state
	}
	return nil
}

func (s *Stream) requestAttributes() any {
	p := s.worker.filter.process
	attributes := map[string]any{"time": s.wall, "protocol": s.options.Protocol, "size": int64(len(s.decode.buffered))}
	if s.decode.out != nil {
		attributes["size"] = int64(len(s.decode.out.Body))
	}
	if s.ended {
		attributes["duration"] = p.monotonic - s.began
	}
	h := s.readable(requestHeaders)
	if h == nil {
		return attributes
	}
	attributes["headers"] = headersMap(*h)
	attributes["headers_bytes"] = int64(h.byteSize())
	for name, header := range map[string]string{
		"path": ":path", "host": ":authority", "scheme": ":scheme", "method": ":method",
		"referer": "referer", "id": "x-request-id", "useragent": "user-agent",
	} {
		if value, ok := h.lookup(header); ok {
			attributes[name] = value
		}
	}
	path, query, _ := strings.Cut(h.Value(":path"), "?")
	query, _, _ = strings.Cut(query, "#")
	attributes["url_path"], attributes["query"] = path, query
	if length, err := strconv.ParseInt(h.Value("content-length"), 10, 64); err == nil {
		attributes["size"] = length
	}
	return attributes
}

func (s *Stream) responseAttributes() any {
	attributes := map[string]any{"flags": int64(s.flags), "size": int64(0)}
	if s.encode.out != nil {
		attributes["size"] = int64(len(s.encode.out.Body))
	}
	if s.encode.arrived {
		if code, err := strconv.Atoi(s.encode.headers.Value(":status")); err == nil {
			attributes["code"] = int64(code)
			attributes["grpc_status"] = int64(grpcStatus(code))
		}
	}
	if s.details != "" {
		attributes["code_details"] = s.details
	}
	// The status of the trailers goes before the status of the headers, which goes before
	// the one that the HTTP status stands for.
	for _, kind := range []uint32{responseHeaders, responseTrailers} {
		h := s.readable(kind)
		if h == nil {
			continue
		}
		attributes[map[uint32]string{responseTrailers: "trailers", responseHeaders: "headers"}[kind]] = headersMap(*h)
		if status, err := strconv.ParseInt(h.Value("grpc-status"), 10, 64); err == nil {
			attributes["grpc_status"] = status
		}
	}
	return attributes
}

func address(text string) any {
	attributes := map[string]any{"address": text}
	if parsed, err := netip.ParseAddrPort(text); err == nil {
		attributes["port"] = int64(parsed.Port())
	}
	return attributes
}

func (s *Stream) xds() any {
	route := s.options.Route
	metadata := map[string]any{}
	for namespace, values := range route.Metadata {
		metadata[namespace] = structValue(values)
	}
	attributes := map[string]any{
		"route_name": route.Name, "virtual_host_name": route.VirtualHost,
		"route_metadata": map[string]any{"filter_metadata": metadata},
	}
	if route.Cluster != "" {
		attributes["cluster_name"] = route.Cluster
	}
	return attributes
}

// structValue turns numbers into numbers of a protobuf Struct.
func structValue(value any) any {
	switch v := value.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case map[string]any:
		converted := map[string]any{}
		for key, value := range v {
			converted[key] = structValue(value)
		}
		return converted
	case []any:
		converted := make([]any, len(v))
		for i, value := range v {
			converted[i] = structValue(value)
		}
		return converted
	}
	return value
}

// serialize writes a value as proxy_get_property gives it: integers, times and
// durations in 8 bytes, little endian; a bool in one; a map or a list as pairs.
func serialize(value any) (string, bool) {
	number := func(bits uint64) (string, bool) {
		return string(binary.LittleEndian.AppendUint64(nil, bits)), true
	}
	switch v := value.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	case bool:
		return string([]byte{byte(bit(v))}), true
	case int:
		return number(uint64(v))
	case int64:
		return number(uint64(v))
	case uint64:
		return number(v)
	case float64:
		return number(math.Float64bits(v))
	case time.Duration:
		return number(uint64(v))
	case time.Time:
		return number(uint64(v.UnixNano()))
	case headersMap:
		return string(Headers(v).marshal()), true
	case map[string]any:
		var pairs Headers
		for _, key := range sortedKeys(v) {
			text, ok := serialize(v[key])
			if !ok {
				return "", false
			}
			pairs = append(pairs, [2]string{key, text})
		}
		return string(pairs.marshal()), true
	case []any:
		var pairs Headers
		for _, element := range v {
			text, ok := serialize(element)
			if !ok {
				return "", false
			}
			pairs = append(pairs, [2]string{text, ""})
		}
		return string(pairs.marshal()), true
	}
	return "", false
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
