package envoy

import (
	"errors"
	"net"
	"net/http"
	"strconv"
)

// Upstream is a server on loopback that speaks HTTP/1.1 and HTTP/2 without TLS.
type Upstream struct {
	server   http.Server
	listener net.Listener
}

// NewUpstream starts a server that answers by a handler.
func NewUpstream(h http.Handler) (*Upstream, error) {
	u := &Upstream{}
	var err error
	if u.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	u.server.Protocols = new(http.Protocols)
	u.server.Protocols.SetHTTP1(true)
	u.server.Protocols.SetUnencryptedHTTP2(true)
	u.server.Handler = h
	go func() {
		if err := u.server.Serve(u.listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return u, nil
}

// Address returns where it listens.
func (u *Upstream) Address() string { return u.listener.Addr().String() }

// Close ends it and all its connections.
func (u *Upstream) Close() error { return u.server.Close() }

// AnswerGRPC answers a request of gRPC with empty messages, of which there may be none,
// and a status in the trailers.
func AnswerGRPC(w http.ResponseWriter, messages, status int) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	w.WriteHeader(http.StatusOK)
	for range messages {
		_, _ = w.Write(Message) // fails where the client has left
	}
	w.Header().Set("Grpc-Status", strconv.Itoa(status))
}

// Message is an empty message of gRPC with the prefix of its length.
var Message = make([]byte, 5)
