package main

import (
	"fmt"

	"golang.org/x/net/http2"
)

// want is what RFC 9113 asks of a server in a case.
type want struct {
	served bool            // stream 1 is answered with a status below 400
	alive  bool            // the connection goes on
	scope  string          // "connection" or "stream": what ends with an error
	codes  []http2.ErrCode // any of them
}

var (
	served = want{served: true, alive: true}
	alive  = want{alive: true}
)

func connection(codes ...http2.ErrCode) want { return want{scope: "connection", codes: codes} }

func stream(codes ...http2.ErrCode) want { return want{scope: "stream", codes: codes} }

// malformed is a request that is an error of its stream. An answer with status 400 to
// 499 says so too (section 8.1.1).
var malformed = stream(http2.ErrCodeProtocol)

// one is a case: a section of RFC 9113, or of RFC 7541 with "hpack", and what a client
// does after both sides have sent their settings.
type one struct {
	section, name string
	want          want
	do            func(c *conn)
}

// get is the header of a request without a body; more fields follow.
func get(more ...string) []string {
	return append([]string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "x"}, more...)
}

func post(more ...string) []string {
	return append([]string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "x"}, more...)
}

const (
	endStream  = http2.FlagHeadersEndStream
	endHeaders = http2.FlagHeadersEndHeaders
	padded     = http2.FlagHeadersPadded
)

// raw is a case of one frame.
func raw(section, name string, w want, t http2.FrameType, flags http2.Flags, id uint32, payload string) one {
	return one{section, name, w, func(c *conn) { c.raw(t, flags, id, []byte(payload)) }}
}

// request is a case of one request without a body.
func request(section, name string, w want, fields ...string) one {
	return one{section, name, w, func(c *conn) { c.headers(1, endStream|endHeaders, fields...) }}
}

// body is a case of one request with a body in parts.
func body(section, name string, w want, fields []string, parts ...string) one {
	return one{section, name, w, func(c *conn) {
		c.headers(1, endHeaders, fields...)
		for i, part := range parts {
			flags := http2.Flags(0)
			if i == len(parts)-1 {
				flags = http2.FlagDataEndStream
			}
			c.raw(http2.FrameData, flags, 1, []byte(part))
		}
	}}
}

// block is a case of a request whose header block is these bytes behind a good one.
func block(section, name string, text string) one {
	return one{section, name, connection(http2.ErrCodeCompression), func(c *conn) {
		c.raw(http2.FrameHeaders, endStream|endHeaders, 1, append(c.encode(get()...), text...))
	}}
}

func cases() []one {
	settings := func(name string, code http2.ErrCode, id http2.SettingID, value uint32) one {
		return one{"6.5.2", name, connection(code), func(c *conn) { c.settings(id, value) }}
	}
	all := []one{
		request("8.3.1", "GET", served, get()...),
		request("8.3.1", "HEAD", served, ":method", "HEAD", ":scheme", "http", ":path", "/", ":authority", "x"),
		body("8.1", "POST with a body", served, post(), "hello"),
		body("8.1", "POST with a length and a body in parts", served, post("content-length", "5"), "he", "llo"),
		{"8.1", "POST with trailers", served, func(c *conn) {
			c.headers(1, endHeaders, post("te", "trailers")...)
			c.raw(http2.FrameData, 0, 1, []byte("hello"))
			c.headers(1, endStream|endHeaders, "x-sum", "1")
		}},
		{"6.2", "padded HEADERS and DATA", served, func(c *conn) {
			c.raw(http2.FrameHeaders, endHeaders|padded, 1, append(append([]byte{3}, c.encode(post()...)...), 0, 0, 0))
			c.raw(http2.FrameData, http2.FlagDataEndStream|http2.FlagDataPadded, 1, []byte("\x02hello\x00\x00"))
		}},
		{"6.10", "a header block in three frames", served, func(c *conn) {
			text := c.encode(get()...)
			c.raw(http2.FrameHeaders, endStream, 1, text[:1])
			c.raw(http2.FrameContinuation, 0, 1, text[1:3])
			c.raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, text[3:])
		}},
		{"6.9.2", "a window of 0 that grows later", served, func(c *conn) {
			c.settings(http2.SettingInitialWindowSize, 0)
			c.headers(1, endStream|endHeaders, get()...)
			c.raw(http2.FrameWindowUpdate, 0, 1, []byte("\x00\x00\x10\x00"))
		}},
		{"5.5", "a frame of an unknown type", served, func(c *conn) {
			c.raw(0xf0, 0xff, 0, []byte("unknown"))
			c.headers(1, endStream|endHeaders, get()...)
		}},
		{"6.5.2", "an unknown setting", served, func(c *conn) {
			c.settings(0xf0f0, 1)
			c.headers(1, endStream|endHeaders, get()...)
		}},
		{"6.7", "flags of PING without a meaning", alive, func(c *conn) { c.raw(http2.FramePing, 0xfe, 0, []byte("12345678")) }},
		{"5.1", "PRIORITY on a stream that is idle", alive, func(c *conn) { c.raw(http2.FramePriority, 0, 7, []byte("\x00\x00\x00\x00\x10")) }},
		{"5.1", "WINDOW_UPDATE on a stream that has ended", alive, func(c *conn) {
			c.headers(1, endStream|endHeaders, get()...)
			c.answered(1)
			c.raw(http2.FrameWindowUpdate, 0, 1, []byte("\x00\x00\x00\x01"))
		}},

		raw("5.1", "DATA on a stream that is idle", connection(http2.ErrCodeProtocol), http2.FrameData, 1, 1, "x"),
		raw("5.1", "RST_STREAM on a stream that is idle", connection(http2.ErrCodeProtocol), http2.FrameRSTStream, 0, 1, "\x00\x00\x00\x08"),
		raw("5.1", "WINDOW_UPDATE on a stream that is idle", connection(http2.ErrCodeProtocol), http2.FrameWindowUpdate, 0, 1,
			"\x00\x00\x00\x01"),
		raw("6.10", "CONTINUATION without HEADERS", connection(http2.ErrCodeProtocol), http2.FrameContinuation, 4, 1, ""),
		{"5.1", "DATA on a stream that is half-closed", stream(http2.ErrCodeStreamClosed), func(c *conn) {
			c.headers(1, endStream|endHeaders, get()...)
			c.raw(http2.FrameData, 1, 1, []byte("x"))
		}},
		{"5.1", "HEADERS on a stream that is half-closed", stream(http2.ErrCodeStreamClosed), func(c *conn) {
			c.headers(1, endStream|endHeaders, get()...)
			c.headers(1, endStream|endHeaders, get()...)
		}},
		{"5.1", "HEADERS on a stream that has ended", connection(http2.ErrCodeStreamClosed, http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endStream|endHeaders, get()...)
			c.answered(1)
			c.headers(1, endStream|endHeaders, get()...)
		}},
		{"5.1.1", "a stream with an even number", connection(http2.ErrCodeProtocol),
			func(c *conn) { c.headers(2, endStream|endHeaders, get()...) }},
		{"5.1.1", "a stream with a lower number", connection(http2.ErrCodeProtocol, http2.ErrCodeStreamClosed), func(c *conn) {
			c.headers(5, endStream|endHeaders, get()...)
			c.headers(3, endStream|endHeaders, get()...)
		}},
		{"4.2", "DATA above the largest frame", stream(http2.ErrCodeFrameSize), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameData, 1, 1, make([]byte, c.most+1))
		}},
		{"4.2", "HEADERS above the largest frame", connection(http2.ErrCodeFrameSize), func(c *conn) {
			c.raw(http2.FrameHeaders, endStream|endHeaders, 1, make([]byte, c.most+1))
		}},
		{"6.10", "PING between HEADERS and CONTINUATION", connection(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endStream, get()...)
			c.raw(http2.FramePing, 0, 0, []byte("12345678"))
		}},
		{"5.5", "an unknown frame between HEADERS and CONTINUATION", connection(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endStream, get()...)
			c.raw(0xf0, 0, 1, nil)
		}},
		{"6.10", "CONTINUATION of another stream", connection(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endStream, get()...)
			c.raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 3, nil)
		}},
		{"6.10", "CONTINUATION behind the last one", connection(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, nil)
		}},
		raw("6.1", "DATA on stream 0", connection(http2.ErrCodeProtocol), http2.FrameData, 1, 0, "x"),
		{"6.1", "DATA with more padding than there is", connection(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameData, http2.FlagDataEndStream|http2.FlagDataPadded, 1, []byte("\x06hello"))
		}},
		raw("6.2", "HEADERS on stream 0", connection(http2.ErrCodeProtocol), http2.FrameHeaders, endStream|endHeaders, 0, "\x82"),
		raw("6.2", "HEADERS with more padding than there is", connection(http2.ErrCodeProtocol), http2.FrameHeaders,
			endStream|endHeaders|padded, 1, "\xff\x82"),
		raw("6.3", "PRIORITY on stream 0", connection(http2.ErrCodeProtocol), http2.FramePriority, 0, 0, "\x00\x00\x00\x01\x10"),
		raw("6.3", "PRIORITY of 4 bytes", stream(http2.ErrCodeFrameSize), http2.FramePriority, 0, 1, "\x00\x00\x00\x00"),
		raw("6.4", "RST_STREAM on stream 0", connection(http2.ErrCodeProtocol), http2.FrameRSTStream, 0, 0, "\x00\x00\x00\x08"),
		{"6.4", "RST_STREAM of 3 bytes", connection(http2.ErrCodeFrameSize), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameRSTStream, 0, 1, []byte("\x00\x00\x08"))
		}},
		raw("6.5", "SETTINGS that acknowledge and set", connection(http2.ErrCodeFrameSize), http2.FrameSettings, 1, 0,
			"\x00\x03\x00\x00\x00\x01"),
		raw("6.5", "SETTINGS on a stream", connection(http2.ErrCodeProtocol), http2.FrameSettings, 0, 1, "\x00\x03\x00\x00\x00\x01"),
		raw("6.5", "SETTINGS of 3 bytes", connection(http2.ErrCodeFrameSize), http2.FrameSettings, 0, 0, "\x00\x03\x00"),
		settings("ENABLE_PUSH of 2", http2.ErrCodeProtocol, http2.SettingEnablePush, 2),
		settings("INITIAL_WINDOW_SIZE above the largest", http2.ErrCodeFlowControl, http2.SettingInitialWindowSize, 1<<31),
		settings("MAX_FRAME_SIZE below the least", http2.ErrCodeProtocol, http2.SettingMaxFrameSize, 1<<14-1),
		settings("MAX_FRAME_SIZE above the largest", http2.ErrCodeProtocol, http2.SettingMaxFrameSize, 1<<24),
		raw("8.4", "PUSH_PROMISE", connection(http2.ErrCodeProtocol), http2.FramePushPromise, 4, 1, "\x00\x00\x00\x02\x82"),
		raw("6.7", "PING on a stream", connection(http2.ErrCodeProtocol), http2.FramePing, 0, 1, "12345678"),
		raw("6.7", "PING of 6 bytes", connection(http2.ErrCodeFrameSize), http2.FramePing, 0, 0, "123456"),
		raw("6.8", "GOAWAY on a stream", connection(http2.ErrCodeProtocol), http2.FrameGoAway, 0, 1, "\x00\x00\x00\x00\x00\x00\x00\x00"),
		raw("6.9", "WINDOW_UPDATE of 0", connection(http2.ErrCodeProtocol), http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"),
		raw("6.9", "WINDOW_UPDATE of 3 bytes", connection(http2.ErrCodeFrameSize), http2.FrameWindowUpdate, 0, 0, "\x00\x00\x01"),
		raw("6.9.1", "a window of the connection above the largest", connection(http2.ErrCodeFlowControl), http2.FrameWindowUpdate, 0,
			0, "\x7f\xff\xff\xff"),
		{"6.9", "WINDOW_UPDATE of 0 on a stream", stream(http2.ErrCodeProtocol), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameWindowUpdate, 0, 1, []byte("\x00\x00\x00\x00"))
		}},
		{"6.9.1", "a window of a stream above the largest", stream(http2.ErrCodeFlowControl), func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameWindowUpdate, 0, 1, []byte("\x7f\xff\xff\xff"))
		}},

		block("hpack 2.3.3", "an index above the table", "\xff\x80\x01"),
		block("hpack 6.1", "index 0", "\x80"),
		block("hpack 5.2", "a string with more padding than 7 bits", "\x00\x01x\x82\xff\xff"),
		block("hpack 5.2", "a string with the end of Huffman codes", "\x00\x01x\x84\xff\xff\xff\xff"),
		block("hpack 4.2", "a change of the table at the end of a block", "\x20"),
		block("hpack 6.3", "a table above the largest", "\x3f\xe1\xff\x03"),

		body("8.1.1", "a length above the body", malformed, post("content-length", "6"), "hello"),
		body("8.1.1", "a length below the body", malformed, post("content-length", "4"), "he", "llo"),
		request("8.1.1", "a length without a body", malformed, post("content-length", "5")...),
		body("8.1.1", "two lengths", malformed, post("content-length", "5", "content-length", "6"), "hello"),
		body("8.1.1", "a length that is no number", malformed, post("content-length", "+5"), "hello"),
		{"8.1", "HEADERS behind the body without the end", malformed, func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.raw(http2.FrameData, 0, 1, []byte("hello"))
			c.headers(1, endHeaders, "x-sum", "1")
			c.raw(http2.FrameData, 1, 1, nil)
		}},
		{"8.3", "a pseudo-field in trailers", malformed, func(c *conn) {
			c.headers(1, endHeaders, post()...)
			c.headers(1, endStream|endHeaders, ":method", "GET")
		}},
	}
	for name, fields := range bad {
		all = append(all, request("8.2 and 8.3", name, malformed, fields...))
	}
	for _, field := range []string{"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"} {
		all = append(all, request("8.2.2", fmt.Sprintf("the field %q", field), malformed, get(field, "chunked")...))
	}
	return all
}

// bad are requests with fields that are malformed. A proxy that sends some of them on
// as HTTP/1.1 sends a second request (request smuggling by downgrade).
var bad = map[string][]string{
	"a name in upper case":          get("X-Test", "1"),
	"a name with a space":           get("x test", "1"),
	"a name with a colon":           get("x:test", "1"),
	"an empty name":                 get("", "1"),
	"a name with a line break":      get("x-test: 1\r\ntransfer-encoding", "chunked"),
	"a value with a line break":     get("x-test", "1\r\ntransfer-encoding: chunked"),
	"a value with a line feed":      get("x-test", "1\nx-other: 2"),
	"a value with a null":           get("x-test", "1\x002"),
	"TE that is not trailers":       get("te", "gzip"),
	"a pseudo-field behind a field": {":method", "GET", ":scheme", "http", "x-test", "1", ":path", "/", ":authority", "x"},
	"an unknown pseudo-field":       get(":test", "1"),
	"the pseudo-field of an answer": get(":status", "200"),
	"no :method":                    {":scheme", "http", ":path", "/", ":authority", "x"},
	"no :scheme":                    {":method", "GET", ":path", "/", ":authority", "x"},
	"no :path":                      {":method", "GET", ":scheme", "http", ":authority", "x"},
	"an empty :path":                {":method", "GET", ":scheme", "http", ":path", "", ":authority", "x"},
	"two :method":                   get(":method", "POST"),
	"two :scheme":                   get(":scheme", "https"),
	"two :path":                     get(":path", "/other"),
	"a :method with a request behind it": {":method", "GET / HTTP/1.1\r\nhost: x\r\n\r\nGET", ":scheme", "http", ":path", "/",
		":authority", "x"},
	"a :path with a request behind it": {":method", "GET", ":scheme", "http", ":path", "/ HTTP/1.1\r\nhost: x\r\n\r\nGET /hidden",
		":authority", "x"},
	"an :authority with a line break": {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "x\r\nx-test: 1"},
	"a :path without a slash":         {":method", "GET", ":scheme", "http", ":path", "x", ":authority", "x"},
}
