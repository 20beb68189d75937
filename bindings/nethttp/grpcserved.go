package nethttp

import "net/http"

// votesLater reports whether the headers of an answer do not say yet what it means: one
// of gRPC whose status comes in its trailers.
func (s *served) votesLater() bool {
	return s.grpc && s.status == http.StatusOK && s.Header().Get(grpcStatus) == ""
}

// grpcStatus returns the status of an answer of gRPC from its headers or its trailers,
// empty where there is none.
func (s *served) grpcStatus() string {
	if !s.grpc {
		return ""
	}
	if text := s.Header().Get(grpcStatus); text != "" {
		return text
	}
	return s.Header().Get(http.TrailerPrefix + grpcStatus)
}

// begins ends the attempt with the first message of an answer of gRPC, unless its body is
// a part of the call.
func (s *served) begins() {
	if s.later && s.taking == nil {
		s.vote()
	}
}

// vote gives the vote of an answer that is over, unless a timeout has ended the attempt.
func (s *served) vote() {
	s.later = false
	s.done(s.outcome(s.status))
}
