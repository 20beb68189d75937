package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/textproto"
	"sync"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/cmd/sluice/internal/http1"
	"github.com/sluice-go/sluice/internal/attempt"
)

// call is a request under way, and its http.ResponseWriter, which remembers the status of
// the answer and counts the bytes of its body. http.ResponseController, by which a proxy
// flushes and takes connections over, finds the rest by Unwrap.
type call struct {
	http.ResponseWriter
	context callContext
	status  int
	bytes   int64
	old     bool // HTTP/1.0 has no informational answers

	// For the access log, known once the request was sent on:
	policy, route string
	attempts      int

	conn     *clientConn // nil where the server watches the client
	interims sync.Mutex  // of what follows
	final    bool        // no informational answer may follow
	passed   int         // how many there were
}

// callContext is the context of a call. It ends when the client leaves, once its end is
// waited for.
type callContext struct {
	attempt.Cancellable
	call *call
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.watch()
	return c.Cancellable.Done()
}

// Follow implements attempt.Hooked.
func (c *callContext) Follow() {
	c.watch()
	c.Cancellable.Follow()
}

func (c *callContext) watch() {
	if conn := c.call.conn; conn != nil {
		conn.watch(c.leave)
	}
}

// leave is called when the client has left.
func (c *callContext) leave() { c.Cancel(nil) }

type callKey struct{}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c.call
	case http1.InterimKey:
		return http1.Interim(c.call.interim)
	}
	return c.Cancellable.Value(key)
}

// learn notes what was found and done for a request.
func learn(ctx context.Context, resp *http.Response) {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return
	}
	c.policy, c.route = nethttp.RouteOf(ctx)
	if info, ok := nethttp.Info(resp); ok {
		c.attempts = info.Attempts
	}
}

// flooded reports whether the upstream gave more informational answers than it may.
func flooded(ctx context.Context) bool {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return false
	}
	c.interims.Lock()
	defer c.interims.Unlock()
	return c.passed > mostInterims
}

// mostInterims is how many informational answers an upstream may give to a request, in all
// of its attempts: each is written to the client at once.
const mostInterims = 16

var errInterims = fmt.Errorf("the upstream gave more than %d informational answers", mostInterims)

// interim passes an informational answer of the upstream on. It may run on a goroutine of
// the transport, where a panic would end the process.
func (c *call) interim(status int, header textproto.MIMEHeader) (err error) {
	c.interims.Lock()
	defer c.interims.Unlock()
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("an informational answer cannot be passed on: %v", crash)
		}
	}()
	if c.passed++; c.passed > mostInterims {
		// A ReverseProxy passes no error of this on.
		c.context.Cancel(errInterims)
		return errInterims
	}
	if c.final || c.old {
		return nil
	}
	h := c.Header()
	for name, lines := range header {
		h[name] = append(h[name], lines...)
	}
	c.ResponseWriter.WriteHeader(status)
	clear(h)
	return nil
}

// answered says that the request of a context has its answer: no informational one may
// follow, also of an attempt that the policy does not wait for.
func answered(ctx context.Context) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.finalize()
	}
}

func (c *call) finalize() {
	c.interims.Lock()
	defer c.interims.Unlock()
	c.final = true
}

// begin begins a call.
func (c *call) begin(r *http.Request) {
	c.context.call, c.old = c, !r.ProtoAtLeast(1, 1)
	c.context.Init(r.Context(), clock.Never, nil)
	if c.conn = clientConnOf(r); c.conn != nil {
		c.conn.begin(r)
	}
}

// over ends a call.
func (c *call) over() {
	c.finalize()
	c.context.Cancel(nil)
	if c.conn != nil {
		c.conn.end()
	}
}

// Unwrap is for http.ResponseController.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter. Informational answers are written by interim
// alone: a ReverseProxy would write each again.
func (c *call) WriteHeader(status int) {
	if status < 200 && status != http.StatusSwitchingProtocols {
		return
	}
	if c.status < 200 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *call) Write(b []byte) (int, error) {
	if c.status < 200 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(b)
	c.bytes += int64(n)
	return n, err
}
