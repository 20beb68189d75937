package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/internal/attempt"
)

// conn is a connection to the server. It has one exchange at a time.
type conn struct {
	transport *Transport
	raw       net.Conn
	socket    *socket // nil where raw has none that can be looked at
	reader    *bufio.Reader
	deadline  time.Time // of raw, zero for none
	reused    bool
	since     time.Time // when it became idle

	// Of the present exchange:
	ctx    context.Context
	mu     sync.Mutex     // of hooked and stop, for a body may be closed while it is read
	hooked attempt.Hooked // ctx, where it has the hook
	stop   func() bool    // of context.AfterFunc, where it has not
	began  time.Time
	hook   attempt.Hook
	cut    atomic.Bool // the context was cancelled
	head   []byte      // of the request, what is not sent
	sent   int         // bytes of it
	tried  bool        // to send it
	room   int64       // bytes that may still be read of the headers
	ended  bool        // the server has sent its last byte
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func newConn(t *Transport, raw net.Conn) *conn {
	c := &conn{transport: t, raw: raw, socket: newSocket(raw)}
	c.reader = bufio.NewReader(c)
	c.hook.F = c.interrupt
	return c
}

// interrupt ends the reads and writes of an exchange whose context was cancelled.
func (c *conn) interrupt() {
	c.cut.Store(true)
	_ = c.raw.SetDeadline(longAgo)
}

// close closes the connection. What is said of that is of no use to anyone.
func (c *conn) close() { _ = c.raw.Close() }

func (c *conn) setDeadline(at time.Time) {
	c.deadline = at
	_ = c.raw.SetDeadline(at)
	if c.cut.Load() {
		_ = c.raw.SetDeadline(longAgo)
	}
}

// early reports whether an error comes from a deadline other than the context's, and
// sets the next one: deadlines are set anew only when one passes.
func (c *conn) early(err error) bool {
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.cut.Load() {
		return false
	}
	now := time.Now()
	at, ok := c.ctx.Deadline()
	follow := c.began.Add(Patience)
	c.mu.Lock()
	hooked := c.hooked
	c.mu.Unlock()
	switch {
	case ok && !now.Before(at):
		return false
	case hooked == nil:
	case now.Before(follow):
		if !ok || follow.Before(at) {
			at = follow
		}
	default:
		hooked.Follow()
	}
	c.setDeadline(at)
	return true
}

// Patience is how long an exchange takes until the end of the client's connection ends
// it. To attach most of the exchanges, which take less, would cost more than it is
// worth. Timeouts and all that this process cancels end an exchange at once.
const Patience = 100 * time.Millisecond

// Read implements io.Reader for the buffer. Before it reads, it sends what is left of the
// request.
func (c *conn) Read(p []byte) (n int, err error) {
	if c.room <= 0 {
		return 0, c.tooLong()
	}
	p = p[:min(int64(len(p)), c.room)]
	for {
		switch {
		case len(c.head) == 0:
			n, err = c.raw.Read(p)
		case c.socket != nil && !c.tried:
			n, err = c.socket.exchange(c, p)
		default:
			err = c.send()
		}
		if n > 0 || err != nil && !c.early(err) {
			break
		}
	}
	c.room -= int64(n)
	c.ended = c.ended || err == io.EOF
	return n, err
}

// send sends what is left of the request.
func (c *conn) send() error {
	n, err := c.raw.Write(c.head)
	c.wrote(n)
	return err
}

func (c *conn) wrote(n int) {
	c.head = c.head[n:]
	c.sent += n
}

func (c *conn) tooLong() error {
	return fmt.Errorf("http1: the headers of the answer exceed %d bytes", c.transport.mostHeaders())
}

// mostHeaders is how many bytes the headers of an answer may have.
func (t *Transport) mostHeaders() int64 {
	if t.rest.MaxResponseHeaderBytes > 0 {
		return t.rest.MaxResponseHeaderBytes
	}
	return 10 << 20 // as net/http has it
}

// attach has the end of the context end the exchange.
func (c *conn) attach(ctx context.Context) {
	c.ctx, c.began = ctx, time.Now()
	until, bounded := ctx.Deadline()
	if h, ok := ctx.(attempt.Hooked); ok && h.Attach(&c.hook) {
		c.hooked = h
		if follow := c.began.Add(Patience); !bounded || follow.Before(until) {
			until, bounded = follow, true
		}
	} else if ctx.Done() != nil {
		c.stop = context.AfterFunc(ctx, c.hook.F)
	}
	if bounded && (c.deadline.IsZero() || until.Before(c.deadline) || !c.began.Before(c.deadline)) {
		c.setDeadline(until)
	}
}

// detach undoes attach, and reports whether the connection was not interrupted and will
// not be.
func (c *conn) detach() bool {
	c.mu.Lock()
	hooked, stop := c.hooked, c.stop
	c.hooked, c.stop = nil, nil
	c.mu.Unlock()
	free := true
	switch {
	case hooked != nil:
		free = hooked.Detach(&c.hook)
	case stop != nil:
		free = stop()
	}
	return free && !c.cut.Load()
}

// cause returns why an exchange failed: for the end of its context, where that came, or
// for an error of the connection.
func (c *conn) cause(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && !c.cut.Load() {
		// It is the context's, whose own clock may be a moment late.
		<-c.ctx.Done()
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}

// fail ends an exchange with an error.
func (c *conn) fail(err error) error {
	err = c.cause(err)
	c.detach()
	c.close()
	return err
}

// exchange sends a request and returns its answer. again says that it may be sent again,
// unless its context has ended.
func (c *conn) exchange(req *http.Request, head []byte) (resp *http.Response, again bool, err error) {
	reused := c.reused
	c.attach(req.Context())
	if c.ctx.Err() != nil {
		err = context.Cause(c.ctx)
		c.finish(c.socket != nil)
		return nil, false, err
	}
	c.head, c.sent, c.tried, c.room = head, 0, false, c.transport.mostHeaders()
	if _, err := c.reader.Peek(1); err != nil {
		again = reused && (c.sent == 0 || c.sent == len(head) && isReplayable(req))
		err = c.fail(fmt.Errorf("http1: the connection broke before the answer: %w", err))
		return nil, again, err
	}
	if resp, err = c.answer(req); err != nil {
		return nil, false, c.fail(err)
	}
	c.room = math.MaxInt64
	reuse := !resp.Close && resp.StatusCode >= 200 && c.socket != nil
	if req.Method == http.MethodHead || resp.ContentLength == 0 {
		c.finish(reuse)
		return resp, false, nil
	}
	resp.Body = &body{ReadCloser: resp.Body, conn: c, length: resp.ContentLength, reuse: reuse}
	return resp, false, nil
}

// answer reads the headers of the answer, and the headers of informational ones before it.
func (c *conn) answer(req *http.Request) (*http.Response, error) {
	var interim Interim
	for first := true; ; first = false {
		resp, err := http.ReadResponse(c.reader, req)
		switch {
		case err != nil && c.room <= 0:
			return nil, c.tooLong()
		case err != nil, resp.StatusCode < 100, resp.StatusCode > 199, resp.StatusCode == http.StatusSwitchingProtocols:
			return resp, err
		}
		if first {
			interim, _ = req.Context().Value(InterimKey{}).(Interim)
		}
		if interim == nil {
			continue
		}
		if err := c.pass(interim, resp); err != nil {
			return nil, err
		}
		// Who is told of them bounds their number.
		c.room = c.transport.mostHeaders()
	}
}

// pass calls an Interim. The connection of one that panics is closed.
func (c *conn) pass(interim Interim, resp *http.Response) (err error) {
	returned := false
	defer func() {
		if !returned {
			c.detach()
			c.close()
		}
	}()
	err = interim(resp.StatusCode, textproto.MIMEHeader(resp.Header))
	returned = true
	return err
}

// finish ends an exchange whose answer was read to its end.
func (c *conn) finish(reuse bool) {
	free := c.detach()
	c.ctx = nil
	if !free || !reuse || c.ended || c.reader.Buffered() > 0 {
		c.close()
		return
	}
	c.transport.put(c)
}

// body is the body of an answer.
type body struct {
	io.ReadCloser // of net/http
	conn          *conn
	length        int64 // -1 where it is unknown
	reuse         bool
	over          atomic.Bool // it was read to its end, failed or was closed
	err           error       // with which it was over, for Read
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.over.Load() {
		return 0, errClosedBody
	}
	n, err := 0, error(os.ErrDeadlineExceeded)
	if !b.conn.cut.Load() {
		n, err = b.ReadCloser.Read(p)
	}
	switch {
	case err == nil:
		return n, nil
	case !b.over.CompareAndSwap(false, true):
		err = errClosedBody
	case err == io.EOF:
		b.conn.finish(b.reuse)
	default:
		err = b.conn.fail(err)
	}
	b.err = err
	return n, err
}

// Ready reports whether all of the body is there, so that no Read waits.
func (b *body) Ready() bool { return b.length >= 0 && int64(b.conn.reader.Buffered()) >= b.length }

// Close implements io.Closer. The rest of an answer is not read.
func (b *body) Close() error {
	if b.over.CompareAndSwap(false, true) {
		b.conn.detach()
		b.conn.close()
	}
	return nil
}
