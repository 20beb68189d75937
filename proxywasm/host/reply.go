package host

import (
	"fmt"
	"strconv"
	"strings"
)

// reply is a local response.
type reply struct {
	status  int
	details string
	body    string
	headers Headers
	grpc    int32 // -1 for none
}

// localReply answers the client in place of the upstream, as
// DownstreamFilterManager::sendLocalReply does: through the response callbacks of
// the filter when no response has begun; past them when it has begun and not
// reached the client; and by a reset when it has.
func (s *Stream) localReply(r reply) {
	if s.ended {
		return
	}
	if s.prepared != nil { // the first one counts, with the details of the last
		s.details = r.details
		return
	}
	if s.deciding > 0 {
		s.decode.aborted = true
	} else if s.answering > 0 {
		s.encode.aborted = true
	}
	s.details = r.details
	switch {
	case s.encode.out != nil:
		s.resetStream()
	case s.encode.arrived:
		headers, body := s.build(r)
		s.local = true
		s.encode.aborted = true
		s.encode.headers, s.encode.hasTrailers = headers, false
		s.encode.out = &Message{Headers: headers.normal(), Body: []byte(body), Complete: true}
		s.finish()
	case s.deciding > 0:
		s.prepared = &r
	default:
		s.replyThroughFilter(r)
	}
}

// answerPrepared sends the local response that a request callback asked for, after
// its end.
func (s *Stream) answerPrepared() {
	if r := s.prepared; r != nil && s.deciding == 0 && !s.ended {
		s.prepared = nil
		s.replyThroughFilter(*r)
	}
}

func (s *Stream) replyThroughFilter(r reply) {
	headers, body := s.build(r)
	s.local = true
	s.arriveHeaders(&s.encode, headers, body == "")
	if body != "" {
		s.arriveBody(&s.encode, []byte(body), End)
	}
}

// build makes a response: for a gRPC request one of trailers alone. Source:
// Utility::prepareLocalReply.
func (s *Stream) build(r reply) (headers Headers, body string) {
	headers = Answer(r.status)
	for _, pair := range r.headers {
		headers.add(pair[0], pair[1])
	}
	if isGRPC(s.decode.headers) {
		headers.replace(":status", "200")
		headers.replace("content-type", "application/grpc")
		if headers.Value("grpc-status") == "" {
			status := r.grpc
			if status < 0 || status > maxGRPCStatus {
				status = grpcStatus(r.status)
			}
			headers.replace("grpc-status", strconv.Itoa(int(status)))
		}
		if r.body != "" {
			headers.replace("grpc-message", percentEncoded(r.body))
		}
		headers.remove("content-length")
		return headers, ""
	}
	if r.body == "" {
		headers.remove("content-length")
		headers.remove("content-type")
		return headers, ""
	}
	headers.replace("content-length", strconv.Itoa(len(r.body)))
	if _, ok := headers.lookup("content-type"); !ok {
		headers.add("content-type", "text/plain")
	}
	if s.decode.headers.Value(":method") == "HEAD" {
		return headers, ""
	}
	return headers, r.body
}

const maxGRPCStatus = 16

func isGRPC(headers Headers) bool {
	kind := headers.Value("content-type")
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
}

// grpcStatus is the gRPC status of an HTTP status. Source:
// Grpc::Utility::httpToGrpcStatus.
func grpcStatus(status int) int32 {
	switch status {
	case 400:
		return 13
	case 401:
		return 16
	case 403:
		return 7
	case 404:
		return 12
	case 429, 502, 503, 504:
		return 14
	}
	return 2
}

func percentEncoded(text string) string {
	var out strings.Builder
	for _, b := range []byte(text) {
		if b < ' ' || b >= '~' || b == '%' {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// failStream answers 503 for a dead VM, once.
func (s *Stream) failStream() {
	if !s.failed {
		s.failed = true
		s.localReply(reply{status: 503, details: "wasm_fail_stream", grpc: 14})
	}
}
