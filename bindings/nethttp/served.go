package nethttp

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// served is the http.ResponseWriter of a guarded handler, or of a proxy around a
// Transport. http.ResponseController finds by Unwrap what it does not have itself.
//
// From the headers on, an answer or a connection that was taken over is ended when
// no byte passes for stream_idle, or at the end of its lifetime. Only an answer of a
// handler that does not read a body, and that writes once and little, waits for no
// client, so no timer is set for it unless it has a lifetime. A proxy may wait for the
// rest of its answer, too, unless that is known to be there.
type served struct {
	http.ResponseWriter
	h       *Handler     // nil for a proxy
	call    *sluice.Call // nil for a proxy
	guard   *guard
	request *http.Request
	body    *clientBody // nil for none
	bounds  *policy.HTTP
	now     func() time.Time
	proxied *proxied // nil for a handler

	identity  identity
	carried   http.Header // by WithCarriedHeaders
	context   admitted    // of the request, where it is told what admitted it
	unwatched bool        // so far the answer is small, and no write of it can wait for the client
	wrote     bool        // the handler has written a part of the body
	field     [1]string   // the value of RateLimit
	status    int         // 0 until the headers are written
	replaced  bool        // another answer is sent in place of the handler's
	grpc      bool        // the answer of a guarded handler is one of gRPC
	later     bool        // the answer has no vote yet
	unread    bool        // the client does not take the answer
	taking    *pauses     // in which the client is waited for; nil where the headers decide the vote
	taken     bool        // the handler has the connection
	returned  bool
	flushes   bool // what the writer below can do
	hijacks   bool
	places    atomic.Int32 // the handler, and a connection that it took over

	watch atomic.Pointer[watch] // nil for an answer that is not watched
	over  atomic.Bool           // the watch does nothing any more
}

// watch ends an answer, or a connection that was taken over, when its time is over.
type watch struct {
	*served
	started time.Time    // of the answer
	last    atomic.Int64 // when the last byte passed, since started
	mu      sync.Mutex   // of what follows, and of the connection's deadlines
	timer   *time.Timer
	conn    net.Conn // that was taken over
}

// The forms of a served that claim what the writer below can do.
type (
	servedFlusher  struct{ *served }
	servedHijacker struct{ *served }
	servedBoth     struct{ *served }
)

// Flush implements http.Flusher.
func (s servedFlusher) Flush() { _ = s.FlushError() }

// Hijack implements http.Hijacker.
func (s servedHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return s.hijack() }

// Flush implements http.Flusher.
func (s servedBoth) Flush() { _ = s.FlushError() }

// Hijack implements http.Hijacker.
func (s servedBoth) Hijack() (net.Conn, *bufio.ReadWriter, error) { return s.hijack() }

// writer returns the form that claims what http.ResponseController finds below.
func (s *served) writer() http.ResponseWriter {
	s.flushes, s.hijacks = abilities(s.ResponseWriter)
	switch {
	case s.flushes && s.hijacks:
		return servedBoth{s}
	case s.flushes:
		return servedFlusher{s}
	case s.hijacks:
		return servedHijacker{s}
	}
	return s
}

// abilities returns what http.ResponseController can do with a writer.
func abilities(w http.ResponseWriter) (flushes, hijacks bool) {
	for {
		if inner, ok := w.(interface {
			abilities() (flushes, hijacks bool)
		}); ok {
			f, h := inner.abilities()
			return flushes || f, hijacks || h
		}
		switch w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			flushes = true
		}
		if _, ok := w.(http.Hijacker); ok {
			hijacks = true
		}
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok || flushes && hijacks {
			return flushes, hijacks
		}
		w = outer.Unwrap()
	}
}

func (s *served) abilities() (flushes, hijacks bool) { return s.flushes, s.hijacks }

// free gives the bulkheads' places back when the last holder is done.
func (s *served) free() {
	if s.places.Add(-1) == 0 && s.call != nil {
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
	case !validStatus(status):
		// The server panics. The handler has not answered, so it votes as after a panic.
		s.ResponseWriter.WriteHeader(status)
		return
	}
	s.status = status
	s.grpc = s.call != nil && isGRPC(s.Header())
	if s.votesLater() {
		s.later = true
	} else if s.call != nil {
		outcome := s.outcome(status)
		if s.later = s.taking != nil && status != http.StatusSwitchingProtocols; !s.later {
			s.done(outcome)
		}
		if failed := s.body.failure(); failed.late() {
			s.replace(failed.answer(s.request))
			return
		}
		if f := s.failing(outcome); f != nil {
			var a answer
			a.replace(f)
			s.replace(a)
			return
		}
	}
	s.start()
	s.ResponseWriter.WriteHeader(status)
}

// done gives the vote of the handler's answer, with its Retry-After where a breaker of the
// policy obeys it.
func (s *served) done(outcome reducer.Outcome) {
	var after time.Duration
	if fallback.Covers(outcome) && s.guard.view().Obeys {
		var told bool
		if after, told = retryAfter(s.Header(), s.now); !told && s.grpc {
			after, _ = pushback(s.Header(), grpcPushback, http.TrailerPrefix+grpcPushback)
		}
	}
	s.call.DoneRetryAfter(outcome, after)
}

// replace writes an answer in place of the handler's. What the handler said of its
// own body no longer holds.
func (s *served) replace(a answer) {
	s.replaced = true
	h := s.Header()
	for _, name := range []string{"Content-Encoding", "Content-Range", "Content-Disposition", "Etag", "Last-Modified", "Trailer", "Transfer-Encoding"} {
		h.Del(name)
	}
	s.start()
	if len(a.body) > smallBytes {
		s.arm()
	}
	a.writeTo(s.ResponseWriter, s.request)
}

// pieceBytes is how much of an answer the client must take in stream_idle: the
// progress within a write is not visible.
const pieceBytes = 64 << 10

// Write implements http.ResponseWriter.
func (s *served) Write(b []byte) (n int, err error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.replaced {
		return len(b), nil
	}
	s.begins()
	if s.unwatched && (s.wrote || len(b) > smallBytes) {
		s.arm()
	}
	s.wrote = true
	for {
		piece := b[n:min(n+pieceBytes, len(b))]
		s.takes()
		written, err := s.ResponseWriter.Write(piece)
		s.took(err)
		n += written
		s.touch()
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// ReadFrom implements io.ReaderFrom, so that a file is still sent by the kernel.
func (s *served) ReadFrom(r io.Reader) (n int64, err error) {
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	if s.replaced {
		return io.Copy(io.Discard, r)
	}
	s.begins()
	s.arm()
	if s.taking != nil {
		// The times of reads and of writes are told apart.
		return io.Copy(onlyWriter{s}, r)
	}
	for {
		copied, err := io.CopyN(s.ResponseWriter, r, pieceBytes)
		n += copied
		s.touch()
		switch {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

// onlyWriter hides ReadFrom.
type onlyWriter struct{ io.Writer }

// takes says that the client is waited for, took that it is not any more.
func (s *served) takes() {
	if s.taking != nil {
		s.taking.begin()
	}
}

func (s *served) took(err error) {
	if s.taking != nil {
		s.taking.end()
		s.unread = s.unread || err != nil
	}
}

// FlushError is for http.ResponseController.
func (s *served) FlushError() error {
	if !s.flushes {
		return http.ErrNotSupported
	}
	if s.status == 0 {
		s.WriteHeader(http.StatusOK)
	}
	s.arm()
	s.takes()
	err := http.NewResponseController(s.ResponseWriter).Flush()
	s.took(err)
	s.touch()
	return err
}

// SetReadDeadline is for http.ResponseController.
func (s *served) SetReadDeadline(at time.Time) error {
	if s.body == nil {
		return http.NewResponseController(s.ResponseWriter).SetReadDeadline(at)
	}
	return s.body.setDeadline(at)
}

// hijack takes the connection over. The place in a bulkhead is held until the
// connection is closed, even when the handler returns before.
func (s *served) hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return conn, both, err
	}
	s.taken = true
	if s.status == 0 {
		s.status = http.StatusSwitchingProtocols
		if s.call != nil {
			s.call.Done(s.outcome(s.status))
		}
	}
	s.places.Add(1)
	taken := &takenConn{Conn: conn, served: s}
	s.start()
	s.arm()
	if w := s.watch.Load(); w != nil {
		w.takeOver(taken)
	}
	// What was read ahead comes before what the connection has.
	ahead, _ := both.Reader.Peek(both.Reader.Buffered())
	reader := bufio.NewReader(taken)
	if len(ahead) > 0 {
		reader = bufio.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(ahead)), taken))
		_, _ = reader.Peek(len(ahead))
	}
	return taken, bufio.NewReadWriter(reader, bufio.NewWriter(taken)), nil
}

// start begins to watch an answer whose headers are written.
func (s *served) start() {
	s.body.answering()
	if s.request.ProtoMajor > 1 && isGRPC(s.Header()) {
		// From here on both sides may take turns. It is the answer that says so: a
		// client must not lift its own bounds.
		s.body.unbound()
	}
	switch {
	case s.bounds.StreamIdle == 0 && s.bounds.Lifetime == 0 || s.watch.Load() != nil:
	case s.body == nil && s.bounds.Lifetime == 0 && (s.proxied == nil || s.proxied.in.ready):
		s.unwatched = true
	default:
		s.watchAnswer()
	}
}

// smallBytes are at most what a server keeps until the handler returns, in which it
// waits for no client.
const smallBytes = 2 << 10

// arm begins to watch an answer that was small so far.
func (s *served) arm() {
	if s.unwatched {
		s.unwatched = false
		s.watchAnswer()
	}
}

func (s *served) watchAnswer() {
	w := &watch{served: s, started: s.now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(w.left(0), w.wake)
	s.watch.Store(w)
}

// touch notes that bytes have passed.
func (s *served) touch() {
	if w := s.watch.Load(); w != nil {
		w.last.Store(int64(s.now().Sub(w.started)))
	}
}

// left returns how long the answer may go on at a time since its start.
func (w *watch) left(now time.Duration) time.Duration {
	left := time.Duration(1<<63 - 1)
	if idle := w.bounds.StreamIdle; idle > 0 {
		left = time.Duration(w.last.Load()) + idle - now
	}
	if life := w.bounds.Lifetime; life > 0 {
		left = min(left, life-now)
	}
	return left
}

// wake ends the answer when its time is over.
func (w *watch) wake() {
	conn, expired := w.expired()
	switch {
	case conn != nil:
		conn.Close()
	case !expired:
	case w.call != nil:
		w.call.Release()
	default:
		w.proxied.Cancel(nil)
	}
}

// expired reports whether the time of the answer is over, and ends its reads and
// writes then. A connection that was taken over is left to its caller.
func (w *watch) expired() (conn net.Conn, expired bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over.Load() {
		return nil, false
	}
	if left := w.left(w.now().Sub(w.started)); left > 0 {
		w.timer.Reset(left)
		return nil, false
	}
	w.over.Store(true)
	if w.conn == nil {
		connection := http.NewResponseController(w.ResponseWriter)
		// Where a writer has no deadlines, the end of the context has to do.
		_ = connection.SetReadDeadline(longAgo)
		_ = connection.SetWriteDeadline(longAgo)
	}
	return w.conn, true
}

// takeOver says that the handler has the connection.
func (w *watch) takeOver(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	if w.over.Load() {
		_ = conn.SetDeadline(longAgo) // its time was over meanwhile
	}
}

// finish stops the watch: the connection is the server's again, or closed.
func (s *served) finish() {
	s.over.Store(true)
	if w := s.watch.Load(); w != nil {
		// What expired began is over when the lock is free.
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer.Stop()
	}
}

// takenConn is a connection that a handler took over.
type takenConn struct {
	net.Conn
	served *served
	closed atomic.Bool
}

// Read implements io.Reader.
func (c *takenConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.served.touch()
	}
	return n, err
}

// Write implements io.Writer.
func (c *takenConn) Write(b []byte) (n int, err error) {
	for {
		written, err := c.Conn.Write(b[n:min(n+pieceBytes, len(b))])
		n += written
		c.served.touch()
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// Close implements net.Conn.
func (c *takenConn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.served.finish()
		c.served.free()
	}
	return err
}

// NetConn returns the connection below, as the method of crypto/tls does.
func (c *takenConn) NetConn() net.Conn { return c.Conn }

// failing reports whether the policy's fallback takes the place of an answer.
func (s *served) failing(o reducer.Outcome) *fallback.Config {
	if !fallback.Covers(o) {
		return nil
	}
	return s.guard.fallbackOf(s.request)
}
