package http1

import (
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// heads are buffers for what is sent.
var heads = sync.Pool{New: func() any { return new([]byte) }}

// head appends what is sent of a request, as net/http sends it. It returns false for a
// request that is unusual in any way, so that the other transport takes or refuses it.
func (t *Transport) head(b []byte, req *http.Request) ([]byte, bool) {
	u := req.URL
	switch {
	case t.host == "" || u == nil || u.Host != t.host || u.Scheme != "http" || u.Opaque != "":
		return b, false
	case req.Body != nil && req.Body != http.NoBody || req.ContentLength != 0 || len(req.TransferEncoding) > 0 ||
		len(req.Trailer) > 0 || req.Close:
		return b, false
	case req.Header == nil || req.Method == http.MethodConnect || !httpguts.ValidHeaderFieldName(req.Method):
		return b, false
	case httptrace.ContextClientTrace(req.Context()) != nil:
		return b, false
	}
	host := req.Host
	if host == "" {
		host = u.Host
	}
	target := u.RequestURI()
	if !isHost(host) || !isTarget(target) {
		return b, false
	}
	b = append(append(append(b, req.Method...), ' '), target...)
	b = append(append(append(b, " HTTP/1.1\r\nHost: "...), host...), "\r\n"...)
	if _, ok := req.Header["User-Agent"]; !ok {
		b = append(b, "User-Agent: Go-http-client/1.1\r\n"...)
	}
	switch req.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		b = append(b, "Content-Length: 0\r\n"...)
	}
	for name, values := range req.Header {
		switch name {
		case "Connection", "Expect", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade":
			return b, false // they change how a request is sent
		case "Host", "Content-Length":
			continue
		case "User-Agent":
			// The first one counts; an empty one is not sent.
			values = values[:min(len(values), 1)]
			if len(values) == 0 || values[0] == "" {
				continue
			}
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return b, false
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return b, false
			}
			b = append(append(append(append(b, name...), ": "...), textproto.TrimString(value)...), "\r\n"...)
		}
	}
	return append(b, "\r\n"...), true
}

// isHost reports whether a host has only the characters of names, addresses and ports.
func isHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if c < 'a' || c > 'z' {
			if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && !strings.ContainsRune("-._:[]", rune(c)) {
				return false
			}
		}
	}
	return host != ""
}

// isTarget reports whether a target has only characters that can be on the first line.
func isTarget(target string) bool {
	for i := range len(target) {
		if target[i] <= ' ' || target[i] == 0x7f {
			return false
		}
	}
	return target != ""
}
