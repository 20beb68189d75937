package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/cmd/sluice/internal/http1"
)

// ending ends the goroutine of its caller in one of the ways in which code may misbehave;
// "" does nothing.
func ending(how string) {
	switch how {
	case "panics":
		panic("a bug")
	case "aborts":
		panic(http.ErrAbortHandler)
	case "exits":
		runtime.Goexit()
	}
}

// hostileBody is the body of an answer that misbehaves in the middle.
type hostileBody struct {
	read, close string
	reads       int
	open        *atomic.Int64
	closed      atomic.Bool
}

func (b *hostileBody) Read(p []byte) (int, error) {
	if b.reads++; b.reads == 1 {
		return copy(p, "some"), nil
	}
	if ending(b.read); b.read == "fails" {
		return 0, io.ErrUnexpectedEOF
	}
	return 0, io.EOF
}

func (b *hostileBody) Write(p []byte) (int, error) { return len(p), nil }

func (b *hostileBody) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.open.Add(-1)
	}
	ending(b.close)
	return nil
}

// badUpstream is an upstream that misbehaves at one point, and a client that does.
type badUpstream struct {
	point, how string
	status     int
	attempts   atomic.Int64
	open       atomic.Int64 // bodies that are not closed
}

func (u *badUpstream) at(point string) string {
	if u.point == point {
		return u.how
	}
	return ""
}

// RoundTrip implements http.RoundTripper.
func (u *badUpstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.attempts.Add(1)
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
	}
	if ending(u.at("round trip")); u.at("round trip") == "fails" {
		return nil, errors.New("broken")
	}
	if u.point == "interim" {
		u.interim(r.Context())
		ending(u.how)
	}
	u.open.Add(1)
	resp := &http.Response{
		StatusCode: u.status, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"X-A": {"b"}}, ContentLength: -1, Request: r,
		Body: &hostileBody{read: u.at("read"), close: u.at("close"), open: &u.open},
	}
	switch u.point {
	case "trailers":
		resp.Trailer = http.Header{"X-End": {"x"}, "Bad Name": nil}
	case "headers":
		resp.Header = nil
	}
	return resp, nil
}

// interim passes informational answers on, as transports do.
func (u *badUpstream) interim(ctx context.Context) {
	for range 3 {
		if f, ok := ctx.Value(http1.InterimKey{}).(http1.Interim); ok {
			_ = f(http.StatusEarlyHints, textproto.MIMEHeader{"Link": {"</a>"}})
		}
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.Got1xxResponse != nil {
			_ = trace.Got1xxResponse(http.StatusEarlyHints, textproto.MIMEHeader{"Link": {"</a>"}})
		}
	}
}

// hostileWriter is the side of the client.
type hostileWriter struct {
	*httptest.ResponseRecorder
	u *badUpstream
}

func (w *hostileWriter) WriteHeader(status int) {
	if status >= 200 || w.u.point == "interim write" {
		ending(w.u.at("write header"))
		ending(w.u.at("interim write"))
	}
	w.ResponseRecorder.WriteHeader(status)
}

func (w *hostileWriter) Write(b []byte) (int, error) {
	if ending(w.u.at("write")); w.u.at("write") == "fails" {
		return 0, net.ErrClosed
	}
	return w.ResponseRecorder.Write(b)
}

func (w *hostileWriter) FlushError() error {
	if w.u.at("flush") != "" { // only so: streams are flushed on goroutines of timers too
		return net.ErrClosed
	}
	w.ResponseRecorder.Flush()
	return nil
}

func (w *hostileWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	ending(w.u.at("hijack"))
	if w.u.at("hijack") == "fails" {
		return nil, nil, http.ErrNotSupported
	}
	here, there := net.Pipe()
	_ = there.Close()
	return here, bufio.NewReadWriter(bufio.NewReader(here), bufio.NewWriter(here)), nil
}

// holding are policies that hold something in each way there is.
var holding = map[string]string{
	"bulkhead":    "[{bulkhead: 2}, {breaker: {window: {calls: 10}}}]",
	"adaptive":    "[{adaptive: {maximum: 20}}, {breaker: {window: {calls: 10}}}]",
	"settle":      "[{limit: {rate: 100/1h, charge: settle}}, {breaker: {window: {calls: 10}}}, {bulkhead: {concurrent: 2, queue: 3, wait: 1s}}]",
	"at the end":  "[{limit: {rate: 100/1h, charge: end}}, {breaker: {window: {calls: 10}}}, {bulkhead: 2}]",
	"with a time": "[{timeout: 10s}, {breaker: {window: {calls: 10}}}, {bulkhead: 2}, {timeout: 5s}]",
	"retry":       "[{retry: {attempts: 3, backoff: none}}, {breaker: {window: {calls: 10}}}, {bulkhead: 2}, {adaptive: {maximum: 20}}]",
	"hedge":       "[{hedge: {after: 1h}}, {breaker: {window: {calls: 10}}}, {bulkhead: 2}]",
	"keys":        "[{breaker: {window: {calls: 10}}}, {bulkhead: {concurrent: 2, per: ip}}, {limit: {rate: 100/1h, charge: settle, per: ip}}]",
}

// TestNothingIsHeldAfterMisbehaviour has the upstream and the client misbehave at every
// point between the round trip and the end of a request, in every way in which a goroutine
// may end: after it nothing is held, and each attempt has given one vote.
func TestNothingIsHeldAfterMisbehaviour(t *testing.T) {
	points := []string{"", "round trip", "interim", "interim write", "headers", "trailers", "read", "close", "write header", "write",
		"flush", "hijack"}
	statuses := []int{200, 503, 101, 0, 99, 100, 103, 199, 999, 1000, -1}
	for name, steps := range holding {
		t.Run(name, func(t *testing.T) {
			for _, point := range points {
				ways, of := []string{"panics", "aborts", "exits", "fails"}, []int{200, 101, 0}
				if point == "" {
					ways, of = ways[:1], statuses
				}
				for _, how := range ways {
					for _, status := range of {
						for _, method := range []string{"GET", "POST", "upgrade"} {
							if method == "upgrade" && status == 101 && (point == "read" || point == "close") {
								continue // on goroutines of httputil.ReverseProxy
							}
							for _, whole := range []bool{false, true} {
								u := &badUpstream{point: point, how: how, status: status}
								misbehave(t, steps, u, method, whole)
							}
						}
					}
				}
			}
		})
	}
}

// misbehave sends one request.
func misbehave(t *testing.T, steps string, u *badUpstream, method string, whole bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if t.Failed() {
				t.Logf("%q %s, status %d, %s, whole %v", u.point, u.how, u.status, method, whole)
			}
		}()
		document := "version: 1\npolicies:\n  p:\n    steps: " + steps + "\nroutes: [{path: /**, policy: p}]"
		c := Config{
			File: "policy.yaml", Source: []byte(document), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
			Log: slog.New(slog.DiscardHandler), Upgrades: []string{"websocket"}, WholeAnswers: whole,
		}
		asByDefault(&c)
		s, err := New(c)
		require.NoError(t, err)
		fresh := states(s)
		s.transport = u
		h := s.handler()
		r := httptest.NewRequest("GET", "/x", nil)
		switch method {
		case "POST":
			r = httptest.NewRequest("POST", "/x", strings.NewReader("hello"))
		case "upgrade":
			r.Header.Set("Connection", "Upgrade")
			r.Header.Set("Upgrade", "websocket")
		}
		w := &hostileWriter{httptest.NewRecorder(), u}
		// The server of net/http has a context that it cancels when the handler is over.
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), http.ServerContextKey, &http.Server{}))
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer cancel()
			defer func() { _ = recover() }()
			h.ServeHTTP(w, r.WithContext(ctx))
		}()
		<-over
		synctest.Wait()
		time.Sleep(time.Minute) // graces are over
		synctest.Wait()
		assert.Zero(t, u.open.Load(), "bodies left open")
		assert.Zero(t, s.meter.inFlight.Load())
		attempts := u.attempts.Load()
		now := states(s)
		for step, before := range fresh {
			votes := 0
			if after, ok := strings.CutPrefix(now[step], "closed failed "); ok {
				_, err := fmt.Sscanf(after[strings.Index(after, "/")+1:], "%d", &votes)
				require.NoError(t, err)
				assert.EqualValues(t, attempts, votes, "one vote for each attempt: %s", now[step])
				continue
			}
			if strings.HasPrefix(step, "limit") {
				continue // what is taken stays taken
			}
			assert.Equal(t, before, now[step], step)
		}
	})
}

// states returns what a new call would find in each step: the text and the free places.
func states(s *Server) map[string]string {
	all := map[string]string{}
	for _, step := range s.set.Pipeline("p").State() {
		text := fmt.Sprint("free ", step.Free, " waiting ", step.Waiting, " used ", step.Used)
		switch {
		case step.Mode != "":
			text = step.Text
		case step.Kind.String() == "adaptive":
			text, _, _ = strings.Cut(step.Text, "/") // failures move the limit
		}
		all[step.Step] = text
	}
	return all
}
