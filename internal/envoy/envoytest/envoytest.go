// Package envoytest has what tests with a real Envoy share. They are skipped, with the
// reason, where Envoy cannot be installed.
package envoytest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
)

// Need skips a test where Envoy cannot be installed.
func Need(t testing.TB) {
	t.Helper()
	if _, err := envoy.Binary(); err != nil {
		t.Skip(err)
	}
}

// Start starts an Envoy, which ends with the test. Where the test fails, its log is
// printed.
func Start(t testing.TB, c envoy.Config) *envoy.Envoy {
	t.Helper()
	Need(t)
	e, err := envoy.Start(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, e.Close())
		if t.Failed() {
			t.Log(e.Log())
		}
	})
	return e
}

// Serve starts an upstream, which ends with the test.
func Serve(t testing.TB, h http.HandlerFunc) *envoy.Upstream {
	t.Helper()
	u, err := envoy.NewUpstream(h)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, u.Close()) })
	return u
}

// Send sends a load whose connections can all be made.
func Send(t testing.TB, l envoy.Load) envoy.Result {
	t.Helper()
	result, err := l.Run()
	require.NoError(t, err)
	return result
}

// Stat returns a counter or gauge of an Envoy.
func Stat(t testing.TB, e *envoy.Envoy, name string) int64 {
	t.Helper()
	n, err := e.Stat(name)
	require.NoError(t, err)
	return n
}

// Eventually waits until a condition holds that follows from what has already happened.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to pass: %s", what)
		}
	}
}

// Answer is the whole answer to a request.
type Answer struct {
	Status  int
	Header  http.Header
	Trailer http.Header
	Body    string
}

// Client sends single requests.
type Client struct {
	t       testing.TB
	address string
	client  http.Client
}

// Clients returns a client of an Envoy that makes a connection for each request, so that
// any worker may serve it.
func Clients(t testing.TB, e *envoy.Envoy) *Client {
	return &Client{t, e.Address(), http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// HTTP2Client returns a client that sends all requests over one connection of HTTP/2.
func HTTP2Client(t testing.TB, e *envoy.Envoy) *Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &Client{t, e.Address(), http.Client{Transport: transport}}
}

// Get sends a request with headers, each "Name: value".
func (c *Client) Get(path string, headers ...string) Answer {
	c.t.Helper()
	return c.Do(c.Request(context.Background(), http.MethodGet, path, nil, headers...))
}

// Request makes a request for Do and Open.
func (c *Client) Request(ctx context.Context, method, path string, body io.Reader, headers ...string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.address+path, body)
	require.NoError(c.t, err)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// Do sends a request and reads its whole answer.
func (c *Client) Do(r *http.Request) Answer {
	c.t.Helper()
	resp, err := c.client.Do(r)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return Answer{resp.StatusCode, resp.Header, resp.Trailer, string(body)}
}

// Open sends a request and returns when its headers are there, or an error.
func (c *Client) Open(r *http.Request) (*http.Response, error) { return c.client.Do(r) }
