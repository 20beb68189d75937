package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/internal/attempt"
)

// Transport is an http.RoundTripper for one server. It is safe for concurrent use.
type Transport struct {
	rest    *http.Transport
	host    string // in URLs; empty where rest takes every request
	address string // to connect to

	mu      sync.Mutex
	idle    []*conn // the longest idle one first
	wants   []*want // the one that waits longest first
	closing bool    // connections that become idle are closed
	sweeper *time.Timer
}

// want is a request that waits for a connection.
type want struct {
	ready chan struct{} // closed when one of the others is set
	conn  *conn
	err   error
}

// InterimKey is the key of the Interim in a request's context.
type InterimKey struct{}

// Interim is called with the status and the headers of each informational answer except
// 101. An error ends the request.
type Interim func(status int, header textproto.MIMEHeader) error

// New returns a transport for the server of a URL. It makes and bounds its connections as
// rest says: by DialContext, IdleConnTimeout, MaxIdleConnsPerHost and
// MaxResponseHeaderBytes. Requests that it does not take go to rest: those with a body,
// with TLS, to another server, with headers about the connection, and those with an
// httptrace.ClientTrace.
func New(rest *http.Transport, to *url.URL) *Transport {
	t := &Transport{rest: rest}
	if rest.DialContext != nil {
		rest.DialContext = whileWanted(rest.DialContext)
	}
	own := hasSockets && to.Scheme == "http" && rest.Protocols == nil && rest.Proxy == nil && rest.DialContext != nil
	if own && isHost(to.Host) && to.Hostname() != "" {
		port := to.Port()
		if port == "" {
			port = "80"
		}
		t.host, t.address = to.Host, net.JoinHostPort(to.Hostname(), port)
	}
	return t
}

// Over returns a transport of which rest takes every request.
func Over(rest *http.Transport) *Transport { return New(rest, new(url.URL)) }

// dialer makes connections.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// whileWanted returns a dialer that gives up when the request is cancelled for which it
// began: clients that leave must not make connections. After a timeout, which may be
// shorter than it takes to connect, the next request has use for the connection.
func whileWanted(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if of, ok := ctx.Value(attempt.SelfKey{}).(context.Context); ok {
			wanted, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(of, func() {
				if of.Err() == context.Canceled {
					cancel()
				}
			})()
			ctx = wanted
		}
		return dial(ctx, network, address)
	}
}

// RoundTrip implements http.RoundTripper. A request that a connection lost before a byte
// of the answer came is sent again as net/http does it: where the connection was used
// before, and nothing was sent or the request may be repeated.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	buffer := heads.Get().(*[]byte)
	defer heads.Put(buffer)
	head, ok := t.head((*buffer)[:0], req)
	if !ok {
		return t.others(req)
	}
	*buffer = head
	ctx := req.Context()
	sending, _ := ctx.(attempt.Sending)
	for {
		if sending != nil {
			sending.Unsent()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c, err := t.connection(ctx)
		if err != nil {
			return nil, err
		}
		if sending != nil {
			sending.Sends()
		}
		resp, again, err := c.exchange(req, head)
		if err == nil || !again {
			return resp, err
		}
	}
}

// others sends a request by the other transport.
func (t *Transport) others(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	interim, tells := ctx.Value(InterimKey{}).(Interim)
	sending, sends := ctx.(attempt.Sending)
	if !tells && !sends {
		return t.rest.RoundTrip(req)
	}
	trace := &httptrace.ClientTrace{Got1xxResponse: interim}
	if sends {
		sending.Unsent()
		trace.GotConn = func(httptrace.GotConnInfo) { sending.Sends() }
	}
	return t.rest.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, trace)))
}

// CloseIdleConnections closes those that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	idle := t.idle
	t.idle, t.closing = nil, true
	if t.sweeper != nil {
		t.sweeper.Stop()
	}
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
	t.rest.CloseIdleConnections()
}

// connection returns an idle connection, or a new one. While it is made, one that
// becomes idle is taken in its place.
func (t *Transport) connection(ctx context.Context) (*conn, error) {
	for {
		c := t.latest()
		if c == nil {
			break
		}
		if !t.stale(c) {
			return c, nil
		}
		c.close()
	}
	w := &want{ready: make(chan struct{})}
	t.mu.Lock()
	t.wants = append(t.wants, w)
	t.mu.Unlock()
	// The connection is of use to other requests where a timeout ends this one before.
	go t.connect(context.WithoutCancel(ctx), w)
	select {
	case <-w.ready:
	case <-ctx.Done():
		if t.remove(w) {
			return nil, context.Cause(ctx)
		}
		<-w.ready
	}
	return w.conn, w.err
}

// latest takes the connection out that became idle last, nil for none.
func (t *Transport) latest() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = false
	last := len(t.idle) - 1
	if last < 0 {
		return nil
	}
	c := t.idle[last]
	t.idle[last] = nil
	t.idle = t.idle[:last]
	return c
}

// connect makes a connection for a want.
func (t *Transport) connect(ctx context.Context, w *want) {
	raw, err := t.rest.DialContext(ctx, "tcp", t.address)
	switch {
	case err != nil && t.remove(w):
		w.err = err
		close(w.ready)
	case err != nil:
	case t.remove(w):
		w.conn = newConn(t, raw)
		close(w.ready)
	default:
		t.put(newConn(t, raw))
	}
}

// remove takes a want out, and reports whether it was still there.
func (t *Transport) remove(w *want) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.wants, w)
	if i < 0 {
		return false
	}
	t.wants = slices.Delete(t.wants, i, i+1)
	return true
}

// put gives a connection that no request uses to one that waits, or keeps it.
func (t *Transport) put(c *conn) {
	c.reused, c.since = true, time.Now()
	if !t.keep(c) {
		c.close()
	}
}

func (t *Transport) keep(c *conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wants) > 0 {
		w := t.wants[0]
		t.wants = slices.Delete(t.wants, 0, 1)
		w.conn = c
		close(w.ready)
		return true
	}
	if t.closing || len(t.idle) >= t.rest.MaxIdleConnsPerHost {
		return false
	}
	if len(t.idle) == 0 && t.rest.IdleConnTimeout > 0 {
		t.sweepAfter(t.rest.IdleConnTimeout)
	}
	t.idle = append(t.idle, c)
	return true
}

// stale reports whether a connection was idle for too long.
func (t *Transport) stale(c *conn) bool {
	return t.rest.IdleConnTimeout > 0 && time.Since(c.since) >= t.rest.IdleConnTimeout
}

// sweepAfter has sweep run after a time. The caller holds the lock.
func (t *Transport) sweepAfter(d time.Duration) {
	if t.sweeper == nil {
		t.sweeper = time.AfterFunc(d, t.sweep)
	} else {
		t.sweeper.Reset(d)
	}
}

// sweep closes the connections that were idle for too long.
func (t *Transport) sweep() {
	t.mu.Lock()
	n := 0
	for n < len(t.idle) && t.stale(t.idle[n]) {
		n++
	}
	old := slices.Clone(t.idle[:n])
	t.idle = slices.Delete(t.idle, 0, n)
	if len(t.idle) > 0 {
		t.sweepAfter(t.rest.IdleConnTimeout - time.Since(t.idle[0].since))
	}
	t.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

// isReplayable reports whether net/http would send a request without a body again.
func isReplayable(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, keyed := req.Header["Idempotency-Key"]
	_, old := req.Header["X-Idempotency-Key"]
	return keyed || old
}

var errClosedBody = errors.New("http1: read on a body that was closed")
