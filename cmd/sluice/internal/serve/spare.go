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
	"syscall"
	"time"
)

// errGaveWay ends a new connection whose descriptor a spare needs.
var errGaveWay = error(syscall.EMFILE)

// spareDescriptors is how many descriptors are kept for the admin address: for the probes
// of an orchestrator and a scraper that come at a time.
const spareDescriptors = 4

// spares are descriptors that the process holds, so that the admin address answers when
// no others are free: one of them is closed, and the connection that is accepted next has
// its descriptor. When connections of clients or to upstreams get one while spares are
// missing, they give it up.
type spares struct {
	open func() (io.Closer, error) // nil for openNothing

	mu      sync.Mutex
	kept    []io.Closer
	lending bool // the admin address accepts with the descriptor of a spare
	missing atomic.Int32
}

// openNothing returns a descriptor of no use: the one of the root, since a container may have no
// other file.
func openNothing() (io.Closer, error) { return os.Open(string(os.PathSeparator)) }

// begin takes the spares, those that can be had.
func (s *spares) begin() {
	if s.open == nil {
		s.open = openNothing
	}
	s.missing.Store(spareDescriptors)
	s.fill()
}

// end gives all of them up.
func (s *spares) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missing.Store(0)
	for _, one := range s.kept {
		_ = one.Close() // nothing was written
	}
	s.kept = nil
}

// fill takes the spares that are missing, and reports whether none is now.
func (s *spares) fill() bool {
	if s.missing.Load() == 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.missing.Load() > 0 {
		if s.lending {
			return false // it would take what was lent
		}
		one, err := s.open()
		switch {
		case err == nil:
		case exhausted(err):
			return false
		default: // no free descriptor would help
			s.missing.Store(0)
			return true
		}
		s.kept = append(s.kept, one)
		s.missing.Add(-1)
	}
	return true
}

// lend frees the descriptor of a spare. It returns false where there is none.
func (s *spares) lend() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.kept) - 1
	if last < 0 {
		return false
	}
	one := s.kept[last]
	s.kept = s.kept[:last]
	// First, so that a connection that gets the descriptor gives it up.
	s.lending = true
	s.missing.Add(1)
	_ = one.Close() // nothing was written
	return true
}

// lent says that the descriptor was used, or is not needed.
func (s *spares) lent() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lending = false
}

// claim closes a new connection where its descriptor is needed for a spare, and reports
// whether it did.
func (s *spares) claim(conn net.Conn) bool {
	if s.fill() {
		return false
	}
	_ = conn.Close() // it was not used
	s.fill()
	return true
}

// guard returns a dialer whose connections give way to spares.
func (s *spares) guard(next dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		if err == nil && s.claim(conn) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errGaveWay}
		}
		return conn, err
	}
}

// closing ends each connection after its answer while spares are missing.
func (s *spares) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.missing.Load() > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// exhausted reports whether an error says that the process or the system has no
// descriptor left.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// lendTime bounds the wait for a connection with the descriptor of a spare: a system may
// have dropped the connection for which it was lent.
const lendTime = time.Second

// spareListener is the listener of the admin address.
type spareListener struct {
	deadlineListener
	spares *spares
}

type deadlineListener interface {
	net.Listener
	SetDeadline(at time.Time) error
}

// Accept implements net.Listener.
func (l *spareListener) Accept() (net.Conn, error) {
	conn, err := l.deadlineListener.Accept()
	if exhausted(err) {
		conn, err = l.acceptWithSpare(err)
	}
	if !l.spares.fill() && err == nil {
		conn = &lentConn{Conn: conn, spares: l.spares}
	}
	return conn, err
}

// acceptWithSpare accepts a connection with the descriptor of a spare. Others may be
// quicker to take it, so it lends as often as there are spares.
func (l *spareListener) acceptWithSpare(err error) (conn net.Conn, _ error) {
	defer l.spares.lent()
	for range spareDescriptors {
		if !exhausted(err) || !l.spares.lend() {
			break
		}
		// A listener that is closed says so when it accepts.
		_ = l.SetDeadline(time.Now().Add(lendTime))
		conn, err = l.deadlineListener.Accept()
		_ = l.SetDeadline(time.Time{})
	}
	return conn, err
}

// lentConn is a connection with the descriptor of a spare.
type lentConn struct {
	net.Conn
	spares *spares
}

// Close implements net.Conn.
func (c *lentConn) Close() error {
	err := c.Conn.Close()
	c.spares.fill()
	return err
}
