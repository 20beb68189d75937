package nethttp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/refusals"
)

// The header fields of gRPC (PROTOCOL-HTTP2 of gRPC, and its proposal A6 for the last).
const (
	grpcStatus   = "Grpc-Status"
	grpcMessage  = "Grpc-Message"
	grpcPushback = "Grpc-Retry-Pushback-Ms"
)

// grpcNames are the names of the codes (code.proto of googleapis).
var grpcNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

// isGRPC reports whether a request or an answer is one of gRPC or gRPC-Web.
func isGRPC(h http.Header) bool {
	kinds := h["Content-Type"]
	return len(kinds) > 0 && strings.HasPrefix(kinds[0], "application/grpc")
}

// toGRPC turns an answer into one for a client of gRPC: status 200 with the code in
// its headers and no body (trailers-only). A time to come back is told in milliseconds
// as well.
func (a *answer) toGRPC(kind string) {
	code := a.grpc
	if code == 0 {
		code = refusals.GRPCOfHTTP(a.status)
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set("Content-Type", kind)
	a.header.Set(grpcStatus, strconv.Itoa(code))
	a.header.Set(grpcMessage, refusals.GRPCMessage(a.detail))
	if seconds, err := strconv.ParseInt(a.header.Get("Retry-After"), 10, 32); err == nil {
		a.header.Set(grpcPushback, strconv.FormatInt(min(seconds*1000, 1<<31-1), 10))
	}
	a.status, a.body = http.StatusOK, nil
}

// AnswerGRPC answers a request of gRPC, in place of an HTTP answer with the status, by
// status 200 and the code that stands for it, with a message: 4 DEADLINE_EXCEEDED for
// 408 and 504, 7 PERMISSION_DENIED for 403, 8 RESOURCE_EXHAUSTED for 413 and 429, 12
// UNIMPLEMENTED for 404 and 501, 13 INTERNAL for 400 and 500, 14 UNAVAILABLE for all
// others. It reports false for another request, to which it does nothing.
func AnswerGRPC(w http.ResponseWriter, r *http.Request, status int, message string) bool {
	if !isGRPC(r.Header) {
		return false
	}
	a := answer{status: status, detail: message}
	a.writeTo(w, r)
	return true
}

// grpcResult returns what an answer of gRPC says of itself, empty for another answer.
// Where the headers do not have it, it waits for the first message, with which the
// attempt is a success, or for the trailers. A client that still sends may wait for the
// headers, so for it they are enough.
func (c *call) grpcResult(resp *http.Response, body *download) (code string, err error) {
	if resp.StatusCode != http.StatusOK || !isGRPC(resp.Header) {
		return "", nil
	}
	if code = resp.Header.Get(grpcStatus); code != "" || !c.upload.sent() {
		return code, nil
	}
	ended, err := body.first()
	if ended {
		code = resp.Trailer.Get(grpcStatus)
	}
	return code, err
}

// pushback returns the least delay that a failed answer of gRPC asks for in the first of the
// fields that it has, negative for no retry.
func pushback(h http.Header, fields ...string) (time.Duration, bool) {
	for _, field := range fields {
		if text := h.Get(field); text != "" {
			return refusals.GRPCPushback(text), true
		}
	}
	return 0, false
}
