//go:build tinygo

package main

import (
	"encoding/binary"
	"strings"
	"unsafe"
)

// The results of host calls.
var (
	data   ptr
	size   uint32
	number uint32
	long   uint64
)

func at[T any](v *T) ptr { return unsafe.Pointer(v) }

func given(status uint32) (uint32, string) {
	if status != 0 {
		return status, ""
	}
	return status, string(unsafe.Slice((*byte)(data), size))
}

func counted(status uint32) (uint32, string) {
	if status != 0 {
		return status, ""
	}
	last = uint64(number)
	return status, text(last)
}

func timed(status uint32) (uint32, string) {
	if status != 0 {
		return status, ""
	}
	last = long
	return status, text(last)
}

// do runs an operation.
func (w words) do() (status uint32, value string) {
	if status, value, ok := w.stream(); ok {
		return status, value
	}
	if status, value, ok := w.shared(); ok {
		return status, value
	}
	return w.other()
}

func (w words) stream() (uint32, string, bool) {
	name, nameSize := w.data(2)
	value, valueSize := w.data(3)
	kind := w.number(1)
	var status uint32
	var result string
	switch w[0] {
	case "header":
		status, result = given(proxyGetHeaderMapValue(kind, name, nameSize, at(&data), at(&size)))
	case "pairs":
		status, result = given(proxyGetHeaderMapPairs(kind, at(&data), at(&size)))
		if result != "" {
			result = pairsText(result)
		}
	case "setpairs":
		pairs, pairsSize := raw(pairs(w[2:]))
		status = proxySetHeaderMapPairs(kind, pairs, pairsSize)
	case "badpairs":
		status = proxySetHeaderMapPairs(kind, name, nameSize)
	case "size":
		status, result = counted(proxyGetHeaderMapSize(kind, at(&number)))
	case "add":
		status = proxyAddHeaderMapValue(kind, name, nameSize, value, valueSize)
	case "replace":
		status = proxyReplaceHeaderMapValue(kind, name, nameSize, value, valueSize)
	case "remove":
		status = proxyRemoveHeaderMapValue(kind, name, nameSize)
	case "body":
		status, result = given(proxyGetBufferBytes(kind, w.number(2), w.number(3), at(&data), at(&size)))
	case "bodysize":
		status, result = counted(proxyGetBufferStatus(kind, at(&number), at(&size)))
	case "setbody":
		text, textSize := w.data(4)
		status = proxySetBufferBytes(kind, w.number(2), w.number(3), text, textSize)
	case "resume":
		status = proxyContinueStream(kind)
	case "close":
		status = proxyCloseStream(kind)
	case "local": // status, body, details, gRPC status, headers
		details, detailsSize := raw(strings.ReplaceAll(w.text(3), "~", " "))
		var headers string
		if len(w) > 5 {
			headers = pairs(w[5:])
		}
		h, headersSize := raw(headers)
		status = proxySendLocalResponse(kind, details, detailsSize, name, nameSize, h, headersSize, int32(w.number(4)))
	case "property", "hexproperty":
		path, pathSize := raw(strings.ReplaceAll(w.text(1), "|", "\x00"))
		status, result = given(proxyGetProperty(path, pathSize, at(&data), at(&size)))
		if w[0] == "hexproperty" {
			result = hex(result)
		}
	case "setproperty":
		path, pathSize := w.data(1)
		status = proxySetProperty(path, pathSize, name, nameSize)
	case "effective":
		status = proxySetEffectiveContext(kind)
	default:
		return 0, "", false
	}
	return status, result, true
}

func (w words) shared() (uint32, string, bool) {
	first, firstSize := w.data(1)
	second, secondSize := w.data(2)
	var status uint32
	var result string
	switch w[0] {
	case "get":
		status, result = given(proxyGetSharedData(first, firstSize, at(&data), at(&size), at(&number)))
		if status == 0 {
			last = uint64(number)
			result += " cas " + text(last)
		}
	case "set":
		status = proxySetSharedData(first, firstSize, second, secondSize, w.number(3))
	case "count", "countblind":
		status, result = increment(w.text(1), w[0] == "count")
	case "register":
		status, result = counted(proxyRegisterSharedQueue(first, firstSize, at(&number)))
	case "resolve":
		status, result = counted(proxyResolveSharedQueue(first, firstSize, second, secondSize, at(&number)))
	case "enqueue":
		status = proxyEnqueueSharedQueue(w.number(1), second, secondSize)
	case "dequeue":
		status, result = given(proxyDequeueSharedQueue(w.number(1), at(&data), at(&size)))
	case "define":
		status, result = counted(proxyDefineMetric(w.number(1), second, secondSize, at(&number)))
	case "increment":
		status = proxyIncrementMetric(w.number(1), int64(w.long(2)))
	case "record":
		status = proxyRecordMetric(w.number(1), w.long(2))
	case "metric":
		status, result = timed(proxyGetMetric(w.number(1), at(&long)))
	default:
		return 0, "", false
	}
	return status, result, true
}

// increment adds 1 to a number in shared data; without cas another worker's 1 can
// be lost.
func increment(key string, cas bool) (uint32, string) {
	name, nameSize := raw(key)
	for tries := uint64(1); ; tries++ {
		n, expected := uint64(0), ^uint32(0)
		if proxyGetSharedData(name, nameSize, at(&data), at(&size), at(&number)) == 0 {
			n, expected = binary.LittleEndian.Uint64(unsafe.Slice((*byte)(data), 8)), number
		}
		if !cas {
			expected = 0
		}
		next := binary.LittleEndian.AppendUint64(nil, n+1)
		status := proxySetSharedData(name, nameSize, unsafe.Pointer(&next[0]), 8, expected)
		if status != 8 {
			return status, text(tries)
		}
	}
}

func (w words) other() (status uint32, value string) {
	first, firstSize := w.data(1)
	second, secondSize := w.data(2)
	third, thirdSize := w.data(3)
	switch w[0] {
	case "say":
		say(w.number(1), w.text(2))
	case "loglevel":
		return counted(proxyGetLogLevel(at(&number)))
	case "print":
		parts := [2]uint32{uint32(uintptr(second)), secondSize}
		status = fdWrite(w.number(1), at(&parts), 1, at(&number))
		return status, text(uint64(number))
	case "period":
		return proxySetTickPeriodMilliseconds(w.number(1)), ""
	case "now":
		return timed(proxyGetCurrentTimeNanoseconds(at(&long)))
	case "clock":
		return timed(clockTimeGet(w.number(1), 0, at(&long)))
	case "random":
		var bytes [8]byte
		status = randomGet(at(&bytes), w.number(1))
		return status, hex(string(bytes[:]))
	case "environment":
		var count, length uint32
		environSizesGet(at(&count), at(&length))
		pointers, text := make([]uint32, count+1), make([]byte, length+1)
		status = environGet(at(&pointers[0]), at(&text[0]))
		return status, strings.ReplaceAll(string(text[:length]), "\x00", " ")
	case "finish":
		return proxyDone(), ""
	case "foreign":
		return given(proxyCallForeignFunction(first, firstSize, second, secondSize, at(&data), at(&size)))
	case "status":
		status, value = given(proxyGetStatus(at(&number), at(&data), at(&size)))
		return status, text(uint64(number)) + " " + value
	case "httpcall": // cluster, path, body, timeout
		headers, headersSize := raw(pairs([]string{":method", "POST", ":path", w.text(2), ":authority", "upstream"}))
		if w.text(2) == "" {
			headersSize = 0
		}
		return counted(proxyHTTPCall(first, firstSize, headers, headersSize, third, thirdSize, nil, 0, w.number(4), at(&number)))
	case "grpccall": // cluster, service, method, message
		message, messageSize := w.data(4)
		return counted(proxyGRPCCall(first, firstSize, second, secondSize, third, thirdSize, nil, 0, message, messageSize, 1000, at(&number)))
	case "grpcstream":
		metadata, metadataSize := raw(pairs([]string{"key", "value"}))
		return counted(proxyGRPCStream(first, firstSize, second, secondSize, third, thirdSize, metadata, metadataSize, at(&number)))
	case "grpcsend":
		return proxyGRPCSend(w.number(1), second, secondSize, w.number(3)), ""
	case "grpccancel":
		return proxyGRPCCancel(w.number(1)), ""
	case "grpcclose":
		return proxyGRPCClose(w.number(1)), ""
	case "keep":
		kept = append(kept, make([]byte, w.number(1))...)
	default:
		say(4, "unknown operation "+w[0])
	}
	return status, value
}

// kept is memory that is never freed.
var kept []byte

func pairs(all []string) string {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(all)/2))
	for _, word := range all {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(words{word}.text(0))))
	}
	for _, word := range all {
		out = append(append(out, words{word}.text(0)...), 0)
	}
	return string(out)
}

func pairsText(form string) string {
	count := binary.LittleEndian.Uint32([]byte(form))
	sizes, rest := form[4:], form[4+8*count:]
	var out []string
	for range count {
		n, v := binary.LittleEndian.Uint32([]byte(sizes)), binary.LittleEndian.Uint32([]byte(sizes[4:]))
		out = append(out, rest[:n]+"="+rest[n+1:n+1+v])
		rest, sizes = rest[n+v+2:], sizes[8:]
	}
	return strings.Join(out, " ")
}

func hex(s string) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, b := range []byte(s) {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}

func main() {}
