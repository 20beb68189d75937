package refusals

import (
	"strconv"
	"time"

	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/reducer"
)

// Codes of gRPC.
const (
	GRPCUnknown           = 2
	GRPCInvalidArgument   = 3
	GRPCDeadlineExceeded  = 4
	GRPCPermissionDenied  = 7
	GRPCResourceExhausted = 8
	GRPCUnimplemented     = 12
	GRPCInternal          = 13
	GRPCUnavailable       = 14
	GRPCUnauthenticated   = 16
)

// grpcHTTP is what code.proto of googleapis says of each code: the HTTP status that it
// stands for. UNIMPLEMENTED stands for 404 in place of 501, as it does the other way
// round in gRPC: a client that calls a method that does not exist must not count against
// the dependency.
var grpcHTTP = [...]int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 404, 500, 503, 500, 401}

// HTTPOfGRPC returns the code of the text of a grpc-status and the HTTP status that it
// stands for. What is no code stands for 500, as UNKNOWN does.
func HTTPOfGRPC(text string) (code, status int) {
	n, ok := keyed.Number(text)
	if !ok || n >= int64(len(grpcHTTP)) {
		return GRPCUnknown, 500
	}
	return int(n), grpcHTTP[n]
}

// GRPCOfHTTP returns the code with which a request of gRPC is answered in place of an
// HTTP status of ours.
func GRPCOfHTTP(status int) int {
	switch status {
	case 429, 413:
		return GRPCResourceExhausted
	case 408, 504:
		return GRPCDeadlineExceeded
	case 403:
		return GRPCPermissionDenied
	case 401:
		return GRPCUnauthenticated
	case 404, 501:
		return GRPCUnimplemented
	case 400, 500:
		return GRPCInternal
	}
	return GRPCUnavailable
}

// GRPCOfRejected returns the code of a refusal by a step, whose problem has a status: what
// lacks an attribute is an argument that is invalid.
func GRPCOfRejected(why reducer.Reason, status int) int {
	if why == reducer.ReasonMissing && status == 400 {
		return GRPCInvalidArgument
	}
	return GRPCOfHTTP(status)
}

// GRPCPushback reads a grpc-retry-pushback-ms: the least delay before another attempt. A
// negative one, and one that cannot be read, ask for no retry (gRFC A6); they are -1.
func GRPCPushback(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 32)
	if err != nil || ms < 0 {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

// GRPCMessage percent-encodes the text of a grpc-message.
func GRPCMessage(text string) string {
	b := make([]byte, 0, len(text))
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '%' {
			const digits = "0123456789ABCDEF"
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
