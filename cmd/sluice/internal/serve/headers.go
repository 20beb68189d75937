package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/guards"
)

// Headers bound what requests and answers may have of headers, and what requests under way
// hold of it. 0 in each: no bound.
type Headers struct {
	// Bytes and Fields bound each request, and each answer of an upstream.
	Bytes, Fields int
	// Connection bounds the bytes of all requests under way on a connection of HTTP/2, and
	// Process is the bound for all connections.
	Connection, Process int64
}

// DefaultHeaders leave room for large cookies and tokens, and for 250 requests of a
// connection with 16 KiB each.
var DefaultHeaders = Headers{Bytes: 64 << 10, Fields: 200, Connection: 4 << 20, Process: 64 << 20}

func (h *Headers) limits() nethttp.HeaderLimits {
	return nethttp.HeaderLimits{Bytes: h.Bytes, Fields: h.Fields}
}

// heldHeaders counts the bytes that the requests under way of a connection hold.
type heldHeaders struct{ bytes atomic.Int64 }

type heldHeadersKey struct{}

// withHeldHeaders is http.Server.ConnContext.
func withHeldHeaders(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, heldHeadersKey{}, &heldHeaders{})
}

// hold holds bytes unless there are more than may be.
func (h *heldHeaders) hold(bytes, most int64) bool {
	if h == nil || h.bytes.Add(bytes) <= most || most <= 0 {
		return true
	}
	h.bytes.Add(-bytes)
	return false
}

// free frees them.
func (h *heldHeaders) free(bytes int64) {
	if h != nil {
		h.bytes.Add(-bytes)
	}
}

// holdHeaders answers a request whose headers are more than it may have, or than can be held.
// free frees what is held of another one when it is over; it is nil for one that is answered.
func (s *Server) holdHeaders(w http.ResponseWriter, r *http.Request) (held heldRequest, ok bool) {
	most := &s.config.Headers
	bytes, fields := guards.RequestSize(r)
	if most.Bytes > 0 && bytes > most.Bytes || most.Fields > 0 && fields > most.Fields {
		decline(w, r, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("The request has %d bytes of headers in %d fields; allowed: %d in %d.", bytes, fields, most.Bytes, most.Fields))
		return held, false
	}
	held = heldRequest{bytes: int64(bytes), process: &s.headers}
	if r.ProtoMajor > 1 {
		held.connection, _ = r.Context().Value(heldHeadersKey{}).(*heldHeaders)
	}
	if !held.connection.hold(held.bytes, most.Connection) {
		answer(w, r, http.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf("The requests under way on the connection have more than %d bytes of headers.", most.Connection))
		return held, false
	}
	if !held.process.hold(held.bytes, most.Process) {
		held.connection.free(held.bytes)
		answer(w, r, http.StatusServiceUnavailable, "The requests under way have too many bytes of headers.")
		return held, false
	}
	return held, true
}

// heldRequest is what a request holds.
type heldRequest struct {
	bytes               int64
	connection, process *heldHeaders
}

func (h *heldRequest) free() {
	h.connection.free(h.bytes)
	h.process.free(h.bytes)
}
