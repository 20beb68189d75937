package serve

import (
	"net"
	"time"
)

// clientsListener accepts connections of clients, at most as many at a time as there are
// slots. Those above are closed at once: a client that waits without an answer cannot go
// elsewhere.
type clientsListener struct {
	net.Listener
	slots   *slots // nil for no bound
	spares  *spares
	crowded func(most int) // is told of a connection that was closed
}

// clients returns the listener of the proxy.
func (s *Server) clients(l net.Listener) net.Listener {
	most := s.config.MaxConnections
	if most == 0 {
		most = defaultConnections(descriptors(), len(s.config.Upstreams), s.config.UpstreamConnections)
	}
	c := &clientsListener{Listener: l, spares: &s.spares, crowded: func(most int) {
		s.meter.crowded.Inc()
		if left, ok := s.crowded.due(time.Now()); ok {
			s.log.Warn("a connection of a client was closed: as many are open as are allowed", "allowed", most, "others", left)
		}
	}}
	if most > 0 {
		c.slots = newSlots(most, 0)
	}
	return c
}

// fileDescriptors are what files, listeners, the admin address and its spares need.
const fileDescriptors = 64

// defaultConnections returns how many connections of clients a process has descriptors
// for, 0 for any number. Connections to upstreams get as many as they may need, at most
// half: a client that has a request under way needs one.
func defaultConnections(descriptors, upstreams, each int) int {
	if descriptors == 0 {
		return 0
	}
	left := descriptors - min(fileDescriptors, descriptors/4)
	needed := left / 2
	if each > 0 && each < needed/upstreams {
		needed = each * upstreams
	}
	return max(left-needed, 1)
}

// Accept implements net.Listener.
func (l *clientsListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.spares.claim(conn) {
			// The server of net/http tries again later.
			return nil, &net.OpError{Op: "accept", Net: "tcp", Err: errGaveWay}
		}
		if l.slots == nil {
			return conn, nil
		}
		select {
		case l.slots.taken <- struct{}{}:
			return l.slots.hold(conn), nil
		default:
		}
		_ = conn.Close() // it was not used
		l.crowded(cap(l.slots.taken))
	}
}
