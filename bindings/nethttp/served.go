package nethttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
)

// served is the http.ResponseWriter of a guarded handler. It flushes, hands
// over the connection and takes from readers as far as the one that it wraps
// can; http.ResponseController finds everything else by Unwrap.
type served struct {
	http.ResponseWriter
	h       *Handler
	call    *sluice.Call
	guard   *guard
	request *http.Request

	status   int  // 0 until the headers are written
	replaced bool // the fallback stands in for the handler's answer
	taken    bool // the handler has the connection
	returned bool
	places   atomic.Int32 // the handler, and a connection that it took over
}

// free gives the bulkheads' places back when the last holder is done.
func (s *served) free() {
	if s.places.Add(-1) == 0 {
		s.call.Release()
	}
}

// Unwrap is for http.ResponseController.
func (s *served) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (s *served) WriteHeader(status int) {
	switch {
	case status >= 100 && status < 200 && status != http.StatusSwitchingProtocols:
		// Informational (RFC 9110 section 15.2): the answer is still to come.
		s.ResponseWriter.WriteHeader(status)
		return
	case s.status != 0:
		if !s.replaced {
			s.ResponseWriter.WriteHeader(status) // the server complains of it
		}
		return
	}
	s.status = status
	outcome := s.outcome(status)
	s.call.Done(outcome)
	if f := s.failing(outcome); f != nil {
		s.replace(f)
		return
	}
	s.ResponseWriter.WriteHeader(status)
}

// replace writes the fallback. What the handler said of its own body no longer
// holds.
func (s *served) replace(f *fallback.Config) {
	s.replaced = true
	h := s.Header()
	for _, name := range []string{"Content-Encoding", "Content-Range", "Content-Disposition", "Etag", "Last-Modified", "Trailer", "Transfer-Encoding"} {
		h.Del(name)
	}
	var a answer
	a.replace(f)
	a.write(s.ResponseWriter)
}

// Write implements http.ResponseWriter.
func (s *served) Write(b []byte) (int, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.replaced {
		return len(b), nil
	}
	return s.ResponseWriter.Write(b)
}

// ReadFrom implements io.ReaderFrom, so that a file is still sent by the kernel.
func (s *served) ReadFrom(r io.Reader) (int64, error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.replaced {
		return io.Copy(io.Discard, r)
	}
	return io.Copy(s.ResponseWriter, r)
}

// Flush implements http.Flusher. It does nothing where the writer below cannot.
func (s *served) Flush() { _ = s.FlushError() }

// FlushError is for http.ResponseController.
func (s *served) FlushError() error {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker. The place in a bulkhead is held until the
// connection is closed, even when the handler returns before.
func (s *served) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return conn, both, err
	}
	s.taken = true
	if s.status == 0 {
		s.status = http.StatusSwitchingProtocols
		s.call.Done(s.outcome(s.status))
	}
	s.places.Add(1)
	return &takenConn{Conn: conn, free: s.free}, both, nil
}

// takenConn is a connection that a handler took over.
type takenConn struct {
	net.Conn
	free   func()
	closed atomic.Bool
}

// Close implements net.Conn.
func (c *takenConn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.free()
	}
	return err
}

// NetConn returns the connection below, as that of crypto/tls does.
func (c *takenConn) NetConn() net.Conn { return c.Conn }
