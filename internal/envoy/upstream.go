package envoy

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// Upstream is a server on loopback that speaks HTTP/1.1 and HTTP/2 without TLS.
type Upstream struct {
	server   http.Server
	listener net.Listener
	served   atomic.Int64
	running  atomic.Int64
	most     atomic.Int64
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
	u.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.served.Add(1)
		running := u.running.Add(1)
		defer u.running.Add(-1)
		for most := u.most.Load(); running > most && !u.most.CompareAndSwap(most, running); most = u.most.Load() {
		}
		h.ServeHTTP(w, r)
	})
	go func() {
		if err := u.server.Serve(u.listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return u, nil
}

// Address returns where it listens.
func (u *Upstream) Address() string { return u.listener.Addr().String() }

// Served returns how many requests it got.
func (u *Upstream) Served() int64 { return u.served.Load() }

// Running returns how many requests it answers at this time.
func (u *Upstream) Running() int64 { return u.running.Load() }

// Most returns how many requests it answered at once at most.
func (u *Upstream) Most() int64 { return u.most.Load() }

// Close ends it and all its connections.
func (u *Upstream) Close() error { return u.server.Close() }

// IsGRPC reports whether a request is one of gRPC.
func IsGRPC(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

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
