package host

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Headers is a header map, a trailer map or gRPC metadata: pairs of a name and a
// value in the order of the wire, pseudo headers first. Names are in lower case
// and may repeat.
type Headers [][2]string

// End says that nothing follows a frame of a stream; More that something does.
const (
	More = false
	End  = true
)

// Get returns the headers of a GET request for a path, on the authority
// example.com, with more headers: a name, a value, and so on.
func Get(path string, more ...string) Headers {
	h := Headers{{":authority", "example.com"}, {":path", path}, {":method", "GET"}, {":scheme", "http"}}
	return h.with(more)
}

// GRPC returns the headers of a gRPC call of a method, "/package.Service/Method".
func GRPC(method string, more ...string) Headers {
	h := Headers{
		{":authority", "example.com"}, {":path", method}, {":method", "POST"}, {":scheme", "http"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	}
	return h.with(more)
}

// Answer returns the headers of a response with a status.
func Answer(status int, more ...string) Headers {
	return Headers{{":status", strconv.Itoa(status)}}.with(more)
}

func (h Headers) with(more []string) Headers {
	if len(more)%2 != 0 {
		panic(misuse("the header " + more[len(more)-1] + " has no value"))
	}
	for pair := range slices.Chunk(more, 2) {
		h.add(pair[0], pair[1])
	}
	return h
}

// Value returns the first value of a name, as proxy_get_header_map_value does, or
// "" where there is none.
func (h Headers) Value(name string) string {
	value, _ := h.lookup(name)
	return value
}

func (h Headers) lookup(name string) (string, bool) {
	name = strings.ToLower(name)
	for _, pair := range h {
		if pair[0] == name {
			return pair[1], true
		}
	}
	return "", false
}

// joined returns all values of a name with commas, as the property request.headers
// does.
func (h Headers) joined(name string) (string, bool) {
	var values []string
	name = strings.ToLower(name)
	for _, pair := range h {
		if pair[0] == name {
			values = append(values, pair[1])
		}
	}
	return strings.Join(values, ","), values != nil
}

// single are the headers of which Envoy holds one value: a second one is appended
// with a comma (its O(1) headers, of which these occur in tests of filters).
var single = []string{
	":authority", ":method", ":path", ":scheme", ":status", ":protocol", "authorization", "connection", "content-length", "content-type",
	"date", "grpc-message", "grpc-status", "grpc-timeout", "server", "te", "transfer-encoding", "upgrade", "user-agent", "via",
	"x-forwarded-for", "x-forwarded-proto", "x-request-id",
}

func (h *Headers) add(name, value string) {
	name = strings.ToLower(name)
	if slices.Contains(single, name) {
		if at := slices.IndexFunc(*h, func(pair [2]string) bool { return pair[0] == name }); at >= 0 {
			(*h)[at][1] += "," + value
			return
		}
	}
	if !strings.HasPrefix(name, ":") {
		*h = append(*h, [2]string{name, value})
		return
	}
	end := slices.IndexFunc(*h, func(pair [2]string) bool { return !strings.HasPrefix(pair[0], ":") })
	if end < 0 {
		end = len(*h)
	}
	*h = slices.Insert(*h, end, [2]string{name, value})
}

func (h *Headers) remove(name string) {
	name = strings.ToLower(name)
	*h = slices.DeleteFunc(*h, func(pair [2]string) bool { return pair[0] == name })
}

func (h *Headers) replace(name, value string) {
	h.remove(name)
	h.add(name, value)
}

// normal returns a copy with names in lower case.
func (h Headers) normal() Headers {
	c := make(Headers, 0, len(h))
	for _, pair := range h {
		c.add(pair[0], pair[1])
	}
	return c
}

func (h Headers) byteSize() (size int) {
	for _, pair := range h {
		size += len(pair[0]) + len(pair[1])
	}
	return size
}

// The most that Envoy reads from a guest. Source: limits.h of proxy-wasm-cpp-host.
const (
	maxPairsBytes = 1 << 20
	maxPairs      = 1024
)

// marshal writes pairs in the form of the ABI.
func (h Headers) marshal() []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(h)))
	for _, pair := range h {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(pair[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(pair[1])))
	}
	for _, pair := range h {
		out = append(append(out, pair[0]...), 0)
		out = append(append(out, pair[1]...), 0)
	}
	return out
}

// unmarshal reads pairs in the form of the ABI. What is not well formed or too
// large is an empty map, as in Envoy.
func unmarshal(data []byte) Headers {
	if len(data) < 4 || len(data) > maxPairsBytes {
		return nil
	}
	count := binary.LittleEndian.Uint32(data)
	if count > maxPairs || uint64(len(data)) < 4+8*uint64(count) {
		return nil
	}
	sizes, rest := data[4:4+8*count], data[4+8*count:]
	text := func(size uint32) (string, bool) {
		if uint64(len(rest)) < uint64(size)+1 || rest[size] != 0 {
			return "", false
		}
		value := string(rest[:size])
		rest = rest[size+1:]
		return value, true
	}
	var h Headers
	for ; len(sizes) > 0; sizes = sizes[8:] {
		name, ok := text(binary.LittleEndian.Uint32(sizes))
		value, ok2 := "", false
		if ok {
			value, ok2 = text(binary.LittleEndian.Uint32(sizes[4:]))
		}
		if !ok2 {
			return nil
		}
		h = append(h, [2]string{name, value})
	}
	if len(rest) > 0 {
		return nil
	}
	return h
}
