package serve

import (
	"bufio"
	"context"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/pipes"
)

// bubble is a proxy and its upstream in virtual time.
type bubble struct {
	*Server
	t       *testing.T
	front   *pipes.Listener
	connect dialer // to the upstream
	journal *journal
}

// inBubble runs a test with a proxy in virtual time. When it ends, every goroutine
// has ended, or synctest fails the test.
func inBubble(t *testing.T, document string, upstream http.HandlerFunc, test func(b *bubble), change ...func(*Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, front: pipes.Listen(), journal: newJournal()}
		c := Config{
			File: "policy.yaml", Source: []byte(document), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
			Upgrades: []string{"websocket"},
			Log:      slog.New(slog.NewJSONHandler(b.journal, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		back := pipes.Listen()
		b.connect = back.Dial
		c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return b.connect(ctx, network, address)
		}
		asByDefault(&c)
		for _, f := range change {
			f(&c)
		}
		var err error
		b.Server, err = New(c)
		require.NoError(t, err)
		behind := &http.Server{Handler: upstream, ErrorLog: log.New(io.Discard, "", 0)}
		proxy := b.Server.front()
		done := make(chan error, 2)
		go func() { done <- behind.Serve(back) }()
		go func() { done <- serveFront(proxy, b.front) }()
		test(b)
		assert.NoError(t, proxy.Close())
		for _, u := range b.upstreams {
			u.transport.CloseIdleConnections()
		}
		assert.NoError(t, behind.Close())
		for range 2 {
			assert.ErrorIs(t, <-done, http.ErrServerClosed)
		}
		// The server of net/http waits a moment before it closes a connection on
		// which the client may still send.
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// client is a connection to the proxy.
type client struct {
	net.Conn
	b *bubble
	r *bufio.Reader
}

// open opens a connection and sends bytes. For answers that the proxy flushes, which
// must be read at once: a ReverseProxy that waits for its client with a lock is not
// durably blocked.
func (b *bubble) open(text string) *client {
	b.t.Helper()
	conn, err := b.front.Dial(b.t.Context(), "", "")
	require.NoError(b.t, err)
	c := &client{Conn: conn, b: b, r: bufio.NewReader(conn)}
	go func() { _, _ = io.WriteString(c, text) }()
	return c
}

// dial opens a connection, sends bytes, and waits until nothing more happens.
func (b *bubble) dial(text string) *client {
	b.t.Helper()
	c := b.open(text)
	synctest.Wait()
	return c
}

// send sends bytes on a goroutine of its own, for a pipe has no buffer.
func (c *client) send(text string) {
	go func() { _, _ = io.WriteString(c, text) }()
	synctest.Wait()
}

// answer reads an answer with its body.
func (c *client) answer() (*http.Response, string) {
	c.b.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	require.NoError(c.b.t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.b.t, err)
	return resp, string(body)
}

// get sends a request on a connection of its own and returns the answer.
func (b *bubble) get(path string, header ...string) (*http.Response, string) {
	b.t.Helper()
	return b.getBy("GET", path, header...)
}

// getBy is get by another method.
func (b *bubble) getBy(method, path string, header ...string) (*http.Response, string) {
	b.t.Helper()
	text := method + " " + path + " HTTP/1.1\r\nHost: x\r\n"
	for _, line := range header {
		text += line + "\r\n"
	}
	c := b.open(text + "\r\n")
	defer c.Close()
	return c.answer()
}

// step returns the state of a step.
func (b *bubble) free(policy string) int {
	b.t.Helper()
	for _, s := range b.set.Pipeline(policy).State() {
		if s.Step == "bulkhead" {
			return int(s.Free)
		}
	}
	b.t.Fatal("there is no bulkhead")
	return 0
}

// freeAfterGrace is free when the grace is over for which an attempt that was broken off
// keeps its place.
func (b *bubble) freeAfterGrace(policy string) int {
	b.t.Helper()
	later(b.config.AbandonedGrace)
	return b.free(policy)
}

// mode returns the state of the breaker.
func (b *bubble) mode(policy string) string {
	b.t.Helper()
	for _, s := range b.set.Pipeline(policy).State() {
		if s.Step == "breaker" {
			return s.Mode
		}
	}
	b.t.Fatal("there is no breaker")
	return ""
}
