//go:build unix

package http1

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// hasSockets says that a connection can be looked at without waiting.
const hasSockets = true

// socket exchanges a request and the first bytes of its answer in one wait.
type socket struct {
	raw  syscall.RawConn
	step func(fd uintptr) (over bool)

	// Of the present exchange:
	conn *conn
	p    []byte // to read to
	n    int    // bytes that were read
	err  error
}

// errUnsolicited says that a server sent something that no request has asked for, or
// closed an idle connection.
var errUnsolicited = errors.New("http1: the server closed the connection, or sent what no request asked for")

// newSocket returns the socket of a connection, nil for none.
func newSocket(of net.Conn) *socket {
	own, ok := of.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := own.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.step = s.advance
	return s
}

// exchange makes sure that nothing is there to be read, sends the head of a request, and
// reads what comes then. Where the head cannot be sent at once, it returns no bytes and
// no error.
func (s *socket) exchange(c *conn, p []byte) (int, error) {
	s.conn, s.p, s.n, s.err = c, p, 0, nil
	err := s.raw.Read(s.step)
	s.conn, s.p = nil, nil
	if s.err != nil {
		err = s.err
	}
	return s.n, err
}

// advance goes on with the exchange, and reports whether it is over. The socket is waited
// for otherwise. Until then it notices every byte that comes.
func (s *socket) advance(fd uintptr) bool {
	c := s.conn
	if !c.tried {
		c.tried = true
		var one [1]byte
		if _, err := retry(syscall.Read, fd, one[:]); err != syscall.EAGAIN {
			s.err = errUnsolicited
			return true
		}
		n, err := retry(syscall.Write, fd, c.head)
		if n > 0 {
			c.wrote(n)
		}
		if err != nil && err != syscall.EAGAIN {
			s.err = fault("write", err)
			return true
		}
		return len(c.head) > 0
	}
	n, err := retry(syscall.Read, fd, s.p)
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		s.err = fault("read", err)
	case n == 0:
		s.err = io.EOF
	default:
		s.n = n
	}
	return true
}

// retry calls a function again that a signal has interrupted.
func retry(f func(fd int, p []byte) (int, error), fd uintptr, p []byte) (int, error) {
	for {
		if n, err := f(int(fd), p); err != syscall.EINTR {
			return n, err
		}
	}
}

func fault(call string, err error) error {
	return &net.OpError{Op: call, Net: "tcp", Err: os.NewSyscallError(call, err)}
}
