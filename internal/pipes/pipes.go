// Package pipes has a listener without sockets, for tests in virtual time: a bubble
// of package synctest knows when every goroutine waits, which it does not of sockets.
package pipes

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections are net.Pipe. Dial connects to it.
type Listener struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

// Listen returns an open listener. It belongs to the bubble in which it is made.
func Listen() *Listener {
	return &Listener{accepted: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Dial connects to the listener, whatever the network and the address. It has the
// form of http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.accepted <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
	}
}
