package serve

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// slots bound the connections to an upstream, or of clients.
type slots struct {
	taken   chan struct{}
	timeout time.Duration // for a slot of an upstream
}

func newSlots(most int, timeout time.Duration) *slots {
	return &slots{make(chan struct{}, most), timeout}
}

// bound returns a dialer that waits for a slot. Where none is free it calls shed, which is to
// close idle connections.
func (s *slots) bound(next dialer, shed func()) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := s.take(ctx, shed); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
		conn, err := next(ctx, network, address)
		if err != nil {
			<-s.taken
			return nil, err
		}
		return s.hold(conn), nil
	}
}

// hold returns a connection that frees a slot, which was taken, when it is closed.
func (s *slots) hold(conn net.Conn) net.Conn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Its other methods are of use to the transports.
		return &slotTCPConn{TCPConn: tcp, slot: slot{of: s}}
	}
	return &slotConn{Conn: conn, slot: slot{of: s}}
}

func (s *slots) take(ctx context.Context, shed func()) error {
	select {
	case s.taken <- struct{}{}:
		return nil
	default:
	}
	timer, again := time.NewTimer(s.timeout), time.NewTicker(shedEvery)
	defer timer.Stop()
	defer again.Stop()
	for {
		shed()
		select {
		case s.taken <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("there are %d connections, as many as --upstream-connections allows", cap(s.taken))
		case <-again.C:
		}
	}
}

// shedEvery is how often idle connections are closed while another one is waited for: they
// belong to transports that do not share connections.
const shedEvery = 50 * time.Millisecond

// slot is the slot of a connection.
type slot struct {
	of   *slots
	once sync.Once
}

func (s *slot) free() { s.once.Do(func() { <-s.of.taken }) }

// slotTCPConn and slotConn are connections that free their slots when they are closed.
type (
	slotTCPConn struct {
		*net.TCPConn
		slot
	}
	slotConn struct {
		net.Conn
		slot
	}
)

// Close implements net.Conn.
func (c *slotTCPConn) Close() error {
	defer c.free()
	return c.TCPConn.Close()
}

// Close implements net.Conn.
func (c *slotConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}
