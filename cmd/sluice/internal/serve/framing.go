package serve

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// spoiled stands in place of a field that contradicts another: the server of net/http
// answers a line with a null with 400 and closes the connection. An error would cancel the
// request before, when the server reads ahead.
const spoiled = "\x00\n\n"

// framing follows what a client of HTTP/1 sends and refuses a request of HTTP/1.0 with a
// Transfer-Encoding, and one with a Transfer-Encoding beside a Content-Length (RFC 9112
// section 6.1). The server of net/http takes both, and keeps nothing by which a handler could
// tell.
type framing struct {
	part   part
	line   []byte // what came of the present line before, at most mostLine bytes
	left   uint64 // bytes of the body, or of the chunk
	old    bool   // the present head is of HTTP/1.0
	coded  bool   // it has a Transfer-Encoding
	sized  bool   // it has a Content-Length
	length uint64
	spoils int // bytes of spoiled to be read, -1 when no more follow
}

// part is what comes next.
type part uint8

const (
	firstLine part = iota
	fieldLine
	sizedBody
	chunkSize
	chunkData
	chunkEnd
	trailerLine
	unknown // HTTP/2, what follows an upgrade, or what the server refuses itself
)

// mostLine is how much of a line matters: names and numbers are shorter.
const mostLine = 128

// pass looks at bytes that were read. It returns how many of them may be passed on; fewer
// than there are, where a head is refused.
func (f *framing) pass(p []byte) (n int) {
	for n < len(p) {
		switch f.part {
		case unknown:
			return len(p)
		case sizedBody, chunkData:
			took := int(min(f.left, uint64(len(p)-n)))
			n += took
			if f.left -= uint64(took); f.left == 0 {
				if f.part++; f.part == chunkSize {
					f.part = firstLine // behind a body with a length
				}
			}
			continue
		}
		end := bytes.IndexByte(p[n:], '\n')
		if end < 0 {
			f.keep(p[n:])
			return len(p)
		}
		line := p[n : n+end]
		if len(f.line) > 0 {
			f.keep(line)
			line = f.line
		}
		if !f.ends(line) {
			f.spoils = len(spoiled)
			return n
		}
		f.line = f.line[:0]
		n += end + 1
	}
	return n
}

// spoil writes what stands in place of a refused field, then nothing.
func (f *framing) spoil(p []byte) (int, error) {
	if f.spoils < 0 {
		return 0, io.EOF
	}
	n := copy(p, spoiled[len(spoiled)-f.spoils:])
	if f.spoils -= n; f.spoils == 0 {
		f.spoils = -1
	}
	return n, nil
}

func (f *framing) keep(text []byte) {
	f.line = append(f.line, text[:min(len(text), mostLine-min(len(f.line), mostLine))]...)
}

// ends takes a line that is whole, without its line feed. It returns false for a field that
// contradicts another.
func (f *framing) ends(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch f.part {
	case firstLine:
		if len(line) == 0 {
			return true // some clients send an empty line behind a body
		}
		f.old, f.coded, f.sized, f.length = bytes.HasSuffix(line, []byte(" HTTP/1.0")), false, false, 0
		if f.part = fieldLine; bytes.HasSuffix(line, []byte(" HTTP/2.0")) {
			f.part = unknown
		}
	case fieldLine:
		if len(line) > 0 {
			return f.field(line)
		}
		switch {
		case f.coded:
			f.part = chunkSize
		case f.length > 0:
			f.part, f.left = sizedBody, f.length
		default:
			f.part = firstLine
		}
	case chunkSize:
		size, _, _ := bytes.Cut(line, []byte(";"))
		var err error
		if f.left, err = strconv.ParseUint(string(bytes.TrimRight(size, " \t")), 16, 63); err != nil {
			f.part = unknown // the server refuses it and closes the connection
		} else if f.part = chunkData; f.left == 0 {
			f.part = trailerLine
		}
	case chunkEnd:
		f.part = chunkSize
	case trailerLine:
		if len(line) == 0 {
			f.part = firstLine
		}
	}
	return true
}

// field takes a line of a head.
func (f *framing) field(line []byte) bool {
	const coding, length = "transfer-encoding", "content-length"
	switch {
	case len(line) > len(coding) && line[len(coding)] == ':' && bytes.EqualFold(line[:len(coding)], []byte(coding)):
		f.coded = true
	case len(line) > len(length) && line[len(length)] == ':' && bytes.EqualFold(line[:len(length)], []byte(length)):
		f.sized = true
		// One that cannot be read is refused by the server.
		f.length, _ = strconv.ParseUint(string(bytes.Trim(line[len(length)+1:], " \t")), 10, 63)
	}
	return !f.coded || !f.old && !f.sized
}

// framedConn is a connection to a client whose requests are followed.
type framedConn struct {
	net.Conn
	mu      sync.Mutex // the server reads ahead on a goroutine of its own
	framing framing
}

// Read implements net.Conn.
func (c *framedConn) Read(p []byte) (int, error) { return c.read(p, c.Conn.Read) }

func (c *framedConn) read(p []byte, from func([]byte) (int, error)) (int, error) {
	c.mu.Lock()
	refused := c.framing.spoils != 0
	c.mu.Unlock()
	if refused {
		return c.spoil(p)
	}
	n, err := from(p)
	c.mu.Lock()
	passed := c.framing.pass(p[:n])
	c.mu.Unlock()
	switch {
	case passed == n:
		return n, err
	case passed == 0:
		return c.spoil(p)
	}
	return passed, nil
}

func (c *framedConn) spoil(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.framing.spoil(p)
}

// handOver says that another protocol follows.
func (c *framedConn) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.framing.part = unknown
}

// framedTLSConn is one with TLS. The server takes its state from it.
type framedTLSConn struct {
	framedConn
	tls *tls.Conn
}

// ConnectionState is for http.Request.TLS.
func (c *framedTLSConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// NetConn returns the connection below, as the method of crypto/tls does.
func (c *framedTLSConn) NetConn() net.Conn { return c.tls.NetConn() }

// tlsListener makes the handshakes of TLS itself, because a server of net/http follows no
// requests on a tls.Conn. Connections of HTTP/2 are passed on as they are.
type tlsListener struct {
	net.Listener
	config   *tls.Config
	complain func(format string, args ...any)

	ready chan net.Conn
	ended chan struct{} // closed when no connection is accepted any more
	err   error         // why

	mu      sync.Mutex
	pending map[net.Conn]bool // nil once the listener is closed
	shakes  sync.WaitGroup
}

func newTLSListener(l net.Listener, config *tls.Config, complain func(format string, args ...any)) *tlsListener {
	t := &tlsListener{
		Listener: l, config: config, complain: complain, ready: make(chan net.Conn), ended: make(chan struct{}), pending: map[net.Conn]bool{},
	}
	go t.accept()
	return t
}

// accept begins the handshake of each connection on a goroutine of its own.
func (t *tlsListener) accept() {
	defer close(t.ended)
	delay := time.Duration(0)
	for {
		conn, err := t.Listener.Accept()
		if err != nil {
			if exhausted(err) || errors.Is(err, syscall.ECONNABORTED) {
				delay = min(max(2*delay, 5*time.Millisecond), time.Second)
				t.complain("accept: %v; retrying in %v", err, delay)
				time.Sleep(delay)
				continue
			}
			t.err = err
			return
		}
		delay = 0
		t.mu.Lock()
		open := t.pending != nil
		if open {
			t.pending[conn] = true
			t.shakes.Add(1)
		}
		t.mu.Unlock()
		if !open {
			conn.Close()
			continue
		}
		go t.shake(conn)
	}
}

// shake makes a handshake and hands the connection to Accept.
func (t *tlsListener) shake(raw net.Conn) {
	defer t.shakes.Done()
	conn := tls.Server(raw, t.config)
	_ = raw.SetDeadline(time.Now().Add(headerTime))
	err := conn.Handshake()
	_ = raw.SetDeadline(time.Time{})
	if err != nil {
		t.forget(raw)
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil && looksLikeHTTP(header.RecordHeader[:]) {
			_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
			err = errors.New("client sent an HTTP request to an HTTPS server")
		}
		raw.Close()
		t.complain("TLS handshake error from %s: %v", raw.RemoteAddr(), err)
		return
	}
	var ready net.Conn = conn
	switch conn.ConnectionState().NegotiatedProtocol {
	case "", "http/1.0", "http/1.1":
		ready = &framedTLSConn{framedConn{Conn: conn}, conn}
	}
	select {
	case t.ready <- ready:
		t.forget(raw)
	case <-t.ended:
		t.forget(raw)
		conn.Close()
	}
}

// looksLikeHTTP reports whether the first bytes of a client begin a method.
func looksLikeHTTP(first []byte) bool {
	switch string(first) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

func (t *tlsListener) forget(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pending, conn)
}

// Accept implements net.Listener.
func (t *tlsListener) Accept() (net.Conn, error) {
	select {
	case conn := <-t.ready:
		return conn, nil
	case <-t.ended:
		return nil, t.err
	}
}

// Close implements net.Listener. It ends the handshakes under way.
func (t *tlsListener) Close() error {
	err := t.Listener.Close()
	t.mu.Lock()
	pending := t.pending
	t.pending = nil
	for conn := range pending {
		conn.Close()
	}
	t.mu.Unlock()
	t.shakes.Wait()
	return err
}
