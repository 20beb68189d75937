package serve

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// working is an upstream that works on each request for half a second, and does not notice
// when its connection is closed.
type working struct {
	now, most, all, connections atomic.Int64
	headers                     bool // it answers with headers at once
}

func (u *working) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	u.all.Add(1)
	now := u.now.Add(1)
	defer u.now.Add(-1)
	for most := u.most.Load(); now > most && !u.most.CompareAndSwap(most, now); most = u.most.Load() {
	}
	if u.headers {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	}
	time.Sleep(500 * time.Millisecond)
	_, _ = io.WriteString(w, "done")
}

// counts counts the connections to the upstream.
func (u *working) counts(b *bubble) {
	next := b.connect
	b.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		u.connections.Add(1)
		return next(ctx, network, address)
	}
}

// places has a bulkhead of five places in each place where one may stand.
var places = map[string]string{
	"bulkhead":  "[{bulkhead: 5}]",
	"adaptive":  "[{adaptive: {initial: 5, minimum: 5, maximum: 5}}]",
	"timeout":   "[{timeout: 10s}, {bulkhead: 5}, {timeout: 5s}]",
	"retry":     "[{retry: {attempts: 3, backoff: {constant: 10ms}}}, {bulkhead: 5}]",
	"queue":     "[{bulkhead: {concurrent: 5, queue: 20, wait: 1s}}]",
	"hedge":     "[{hedge: {after: 1s}}, {bulkhead: 5}]",
	"of a key":  "[{bulkhead: {concurrent: 5, per: host}}]",
	"two of it": "[{bulkhead: 5}, {retry: 2}, {bulkhead: 5}]",
}

func stepsOf(steps string) string {
	return "version: 1\npolicies:\n  p: {steps: " + steps + "}\nroutes: [{path: /**, policy: p}]\n"
}

// leaving has forty clients send a request, leave after 20 ms, and come again, for six
// seconds.
func leaving(t *testing.T, b *bubble, request string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 5 * time.Millisecond)
			for range 30 {
				c := b.open(request)
				go func() { _, _ = io.Copy(io.Discard, c) }()
				time.Sleep(20 * time.Millisecond)
				assert.NoError(t, c.Close())
				time.Sleep(180 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

// TestClientsThatLeave is what they can have an upstream do at a time: as much as the
// places allow.
func TestClientsThatLeave(t *testing.T) {
	const get = "GET /x HTTP/1.1\r\nHost: x\r\n"
	for name, request := range map[string]string{
		"GET": get + "\r\n", "with a body": post("/x", 5) + "hello", "within the body": post("/x", 5) + "h",
		"with a deadline": get + nethttp.DeadlineHeader + ": 20\r\n\r\n",
	} {
		for kind, steps := range places {
			for _, headers := range []bool{false, true} {
				t.Run(fmt.Sprint(name, "/", kind, "/", headers), func(t *testing.T) {
					if kind == "adaptive" && (headers || name == "within the body" || name == "with a deadline") {
						t.Skip("its places are free at the end of the attempt, whatever the grace")
					}
					u := &working{headers: headers}
					inBubble(t, stepsOf(steps), u.ServeHTTP, func(b *bubble) {
						u.counts(b)
						leaving(t, b, request)
						assert.LessOrEqual(t, u.most.Load(), int64(5))
						assert.LessOrEqual(t, u.all.Load(), int64(6*5/0.5)+5)
						assert.Greater(t, u.all.Load(), int64(10), "the others are served")
						// A client may leave at the mark at which a connection for it begins: that one
						// has no request, and its place is free at once.
						assert.LessOrEqual(t, u.connections.Load(), int64(6*5/0.5)+10)
						later(time.Minute)
						resp, _ := b.get("/x")
						assert.Equal(t, 200, resp.StatusCode)
					}, withDeadlines(0))
				})
			}
		}
	}
}

// TestClientsThatLeaveWithoutTheHold are many more, so that the test above says something.
func TestClientsThatLeaveWithoutTheHold(t *testing.T) {
	u := &working{}
	inBubble(t, stepsOf("[{bulkhead: 5}]"), u.ServeHTTP, func(b *bubble) {
		leaving(t, b, "GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
		assert.Greater(t, u.most.Load(), int64(20))
		assert.Greater(t, u.all.Load(), int64(150))
		later(time.Second)
	}, func(c *Config) { c.AbandonedWait, c.AbandonedGrace = 0, 0 })
}

// TestRapidReset has a client of HTTP/2 begin requests and reset them.
func TestRapidReset(t *testing.T) {
	for _, kept := range []bool{true, false} {
		u := &working{}
		inBubble(t, stepsOf("[{bulkhead: 50}]"), u.ServeHTTP, func(b *bubble) {
			client := &http.Transport{DialContext: b.front.Dial, Protocols: priorKnowledge()}
			var all sync.WaitGroup
			for i := range 600 {
				all.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Millisecond)
					defer cancel()
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://x/x", nil)
					require.NoError(t, err)
					if resp, err := client.RoundTrip(r); err == nil {
						_ = resp.Body.Close()
					}
				})
			}
			all.Wait()
			later(time.Minute)
			if kept {
				assert.LessOrEqual(t, u.most.Load(), int64(50))
				assert.LessOrEqual(t, u.all.Load(), int64(100))
			} else {
				assert.Greater(t, u.most.Load(), int64(200))
			}
			client.CloseIdleConnections()
		}, func(c *Config) {
			if !kept {
				c.AbandonedWait, c.AbandonedGrace = 0, 0
			}
		})
	}
}

// TestAbandonedAttempt ends as cancelled when its upstream has answered, or after the wait
// and the grace: no vote, no second attempt.
func TestAbandonedAttempt(t *testing.T) {
	const steps = "[{retry: {attempts: 3, backoff: none}}, {breaker: {window: {calls: 10}}}, {bulkhead: 1}%s]"
	for name, c := range map[string]struct {
		timeout  string
		upstream http.HandlerFunc
		held     time.Duration // since the client has left
	}{
		"answered": {"", func(w http.ResponseWriter, _ *http.Request) { time.Sleep(3 * time.Second) }, 3*time.Second - 20*time.Millisecond},
		"with 503": {"", func(w http.ResponseWriter, _ *http.Request) { time.Sleep(3 * time.Second); w.WriteHeader(503) },
			3*time.Second - 20*time.Millisecond},
		"broken off": {"", func(w http.ResponseWriter, _ *http.Request) { time.Sleep(3 * time.Second); panic(http.ErrAbortHandler) },
			3*time.Second - 20*time.Millisecond},
		"never": {"", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, DefaultAbandonedWait + DefaultAbandonedGrace},
		"at a timeout": {", {timeout: 2s}", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			2*time.Second - 20*time.Millisecond + DefaultAbandonedGrace},
	} {
		for _, request := range []string{"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", post("/x", 5) + "hello"} {
			t.Run(name+"/"+request[:4], func(t *testing.T) {
				var all atomic.Int64
				inBubble(t, stepsOf(fmt.Sprintf(steps, c.timeout)), func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					all.Add(1)
					c.upstream(w, r)
				}, func(b *bubble) {
					conn := b.dial(request)
					later(20 * time.Millisecond)
					require.NoError(t, conn.Close())
					later(c.held - time.Millisecond)
					assert.Equal(t, 0, b.free("p"))
					later(2 * time.Millisecond)
					assert.Equal(t, 1, b.free("p"))
					assert.EqualValues(t, 1, all.Load())
					assert.Equal(t, "closed failed 0/0", states(b.Server)["breaker"])
					assert.Zero(t, b.meter.inFlight.Load())
				})
			})
		}
	}
}

// TestNothingIsSentForARequestThatIsGone has clients leave while the connection to the
// upstream is made, and while a bulkhead has them wait.
func TestNothingIsSentForARequestThatIsGone(t *testing.T) {
	for _, body := range []string{"", "hello"} {
		u := &working{}
		inBubble(t, stepsOf("[{bulkhead: {concurrent: 1, queue: 50, wait: 1h}}]"), u.ServeHTTP, func(b *bubble) {
			ended := make(chan error, 100)
			b.connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				return nil, ctx.Err()
			}
			client := &http.Transport{DialContext: b.front.Dial, Protocols: priorKnowledge()}
			var leave []context.CancelFunc
			var all sync.WaitGroup
			for range 20 {
				ctx, cancel := context.WithCancel(b.t.Context())
				leave = append(leave, cancel)
				all.Go(func() {
					r, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://x/x", strings.NewReader(body))
					require.NoError(t, err)
					_, err = client.RoundTrip(r)
					assert.ErrorIs(t, err, context.Canceled)
				})
				synctest.Wait()
			}
			for i := range leave {
				leave[len(leave)-1-i]()
				synctest.Wait()
			}
			all.Wait()
			later(time.Second)
			assert.Equal(t, 1, b.free("p"))
			assert.Len(t, ended, 1, "those that waited do not connect, and the one that connected ends")
			assert.Zero(t, u.all.Load())
			client.CloseIdleConnections()
		})
	}
}

// TestAbandonedAttemptsEndWithTheServer, which does not wait for them.
func TestAbandonedAttemptsEndWithTheServer(t *testing.T) {
	inBubble(t, stepsOf("[{bulkhead: 1}]"), func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(b *bubble) {
		c := b.dial("GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, c.Close())
		later(time.Second)
		assert.Equal(t, int64(1), b.meter.inFlight.Load())
		b.cutOff()
		synctest.Wait()
		assert.Zero(t, b.meter.inFlight.Load())
		assert.Equal(t, 1, b.free("p"))
	})
}

// TestUpstreamConnections are bounded: requests wait for one of them, also for one that
// another transport has idle, and connecting fails in the end.
func TestUpstreamConnections(t *testing.T) {
	var open, most atomic.Int64
	u := &working{}
	inBubble(t, stepsOf("[{limit: 1000/1s}]"), u.ServeHTTP, func(b *bubble) {
		next := b.connect
		b.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := next(ctx, network, address)
			if err == nil {
				now := open.Add(1)
				for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
				}
				conn = &closing{Conn: conn, open: &open}
			}
			return conn, err
		}
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				text := "GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
				if i%2 == 0 {
					text = post("/x", 5) + "hello"
				}
				c := b.open(text)
				defer c.Close()
				resp, _ := c.answer()
				assert.Equal(t, 200, resp.StatusCode)
			})
		}
		all.Wait()
		assert.LessOrEqual(t, most.Load(), int64(6))
		assert.EqualValues(t, 60, u.all.Load())

		b.upstreams[0].slots.timeout = 100 * time.Millisecond
		for range 6 {
			all.Go(func() { b.get("/x") })
		}
		synctest.Wait()
		resp, body := b.get("/x")
		assert.Equal(t, 502, resp.StatusCode, body)
		assert.Contains(t, b.journal.await(t, "no answer from the upstream")["error"], "as many as --upstream-connections allows")
		all.Wait()
	}, func(c *Config) { c.UpstreamConnections = 6 })
}

// closing is a connection that is counted while it is open.
type closing struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *closing) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
