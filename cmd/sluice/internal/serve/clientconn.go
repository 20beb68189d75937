package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// clientConn is a connection to a client that speaks HTTP/1.1 without TLS. It takes two
// costs from each request.
//
// While a handler runs, the server of net/http reads a byte ahead on a goroutine, to
// notice a client that leaves. Here that read returns no byte and no error, and the
// server ends it. The client is watched only for a request whose context is waited for:
// see callContext. It is known which reads these are, because the server reads the byte
// ahead to the same address for as long as the connection lasts, and because no other
// code reads from the connection while a request without a body is served. Where a
// server reads ahead in another way, it reads as ever.
//
// The server sets a deadline of reads several times a request. Here one is set later that
// comes later than the one before: when that has passed.
type clientConn struct {
	*net.TCPConn
	closer io.Closer // of the connection and what it holds

	mu      sync.Mutex
	address *byte         // to which the server reads ahead, nil until it is known
	learns  bool          // only the server reads from the connection, and only ahead
	quick   bool          // such reads return at once
	skipped bool          // the read ahead of the present request returned at once
	watched chan struct{} // closed when the watch of the client is over, nil for none
	ahead   [1]byte       // what the watch has read
	kept    atomic.Bool   // ahead is not handed over

	deadlines sync.Mutex
	wanted    time.Time // of reads, zero for none
	set       time.Time // of the socket
	stopped   bool      // reads end, whatever is wanted

	framed framedConn // of the requests, without a connection of its own
}

// clientListener accepts clientConns.
type clientListener struct{ net.Listener }

// Accept implements net.Listener. Of a connection that is no socket, as behind a header of
// the PROXY protocol, the requests are followed, and no more.
func (l clientListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	switch c := conn.(type) {
	case *net.TCPConn:
		return &clientConn{TCPConn: c, closer: c}, nil
	case *slotTCPConn:
		return &clientConn{TCPConn: c.TCPConn, closer: c}, nil
	}
	return &framedConn{Conn: conn}, nil
}

// Close implements net.Conn.
func (c *clientConn) Close() error { return c.closer.Close() }

type clientConnKey struct{}

// withClientConn is http.Server.ConnContext.
func withClientConn(ctx context.Context, conn net.Conn) context.Context {
	if c, ok := conn.(*clientConn); ok {
		return context.WithValue(ctx, clientConnKey{}, c)
	}
	return ctx
}

// clientConnOf returns the connection of a request of HTTP/1.1, nil where it is another.
func clientConnOf(r *http.Request) *clientConn {
	if r.ProtoMajor != 1 {
		return nil
	}
	c, _ := r.Context().Value(clientConnKey{}).(*clientConn)
	return c
}

// handedOver is http.Server.ConnState: from the moment at which a handler takes a
// connection over, no other code may read from it.
func handedOver(conn net.Conn, state http.ConnState) {
	if state != http.StateHijacked {
		return
	}
	switch c := conn.(type) {
	case *clientConn:
		c.framed.handOver()
		c.end()
	case *framedConn:
		c.handOver()
	case *framedTLSConn:
		c.handOver()
	}
}

// begin says that a request is served.
func (c *clientConn) begin(r *http.Request) {
	_, upgrade := r.Header["Upgrade"]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quick = r.Body == http.NoBody
	c.learns = c.quick && !upgrade
	if !c.quick {
		// The server reads ahead once the handler has read the body.
		c.skipped = false
	}
}

// end says that it was served, or that the handler takes the connection over.
func (c *clientConn) end() {
	c.mu.Lock()
	watched := c.watched
	c.learns, c.skipped, c.watched = false, false, nil
	c.mu.Unlock()
	if watched == nil {
		return
	}
	c.stop(true)
	<-watched
	c.stop(false)
}

// stop ends a read that waits, and those that follow until it is called again.
func (c *clientConn) stop(stopped bool) {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if c.stopped = stopped; stopped {
		c.set = longAgo
		_ = c.TCPConn.SetReadDeadline(longAgo)
	}
}

// watch calls gone when the client leaves before end. It returns false where the server
// watches the client itself.
func (c *clientConn) watch(gone func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.skipped {
		c.quick = false
		return false
	}
	if c.watched != nil {
		return true
	}
	over := make(chan struct{})
	c.watched = over
	go func() {
		defer close(over)
		n, err := c.read(c.ahead[:])
		switch {
		case n > 0:
			// It is of the next request. What follows it is not seen, as with net/http.
			c.kept.Store(true)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			gone()
		}
	}()
	return true
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// Read implements net.Conn.
func (c *clientConn) Read(p []byte) (int, error) {
	if len(p) == 1 && c.skips(&p[0]) {
		return 0, nil
	}
	return c.framed.read(p, c.next)
}

// next reads what the watch has read, then from the socket.
func (c *clientConn) next(p []byte) (int, error) {
	if c.kept.Load() && len(p) > 0 {
		p[0] = c.ahead[0]
		c.kept.Store(false)
		return 1, nil
	}
	return c.read(p)
}

// skips reports whether a read to an address is one ahead that returns at once.
func (c *clientConn) skips(to *byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.learns && c.address == nil {
		c.address = to
	}
	if c.address != to || !c.quick {
		return false
	}
	c.skipped = true
	return true
}

// read reads from the socket until the deadline that is wanted.
func (c *clientConn) read(p []byte) (int, error) {
	for {
		n, err := c.TCPConn.Read(p)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !c.extend() {
			return n, err
		}
	}
}

// extend sets the deadline that is wanted, unless that has passed too.
func (c *clientConn) extend() bool {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	if c.stopped || !c.wanted.IsZero() && !time.Now().Before(c.wanted) {
		return false
	}
	c.set = c.wanted
	return c.TCPConn.SetReadDeadline(c.set) == nil
}

// SetReadDeadline implements net.Conn.
func (c *clientConn) SetReadDeadline(at time.Time) error {
	c.deadlines.Lock()
	defer c.deadlines.Unlock()
	c.wanted = at
	if at.IsZero() || !c.set.IsZero() && !at.Before(c.set) {
		return nil
	}
	c.set = at
	return c.TCPConn.SetReadDeadline(at)
}

// SetDeadline implements net.Conn.
func (c *clientConn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}
