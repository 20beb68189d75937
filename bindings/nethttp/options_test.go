package nethttp_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/policy"
)

func TestRequestIsChangedForEachAttempt(t *testing.T) {
	next := answers(status(503), status(200))
	tr := nethttp.NewTransport(next, policyOf(t, thrice...), nethttp.WithRequest(func(attempt int, r *http.Request) {
		r.Header.Set("X-Attempt", strings.Repeat("i", attempt))
	}))
	r := get(t, target)
	r.Header.Set("X-Own", "1")
	resp, err := tr.RoundTrip(r)
	require.NoError(t, err)
	text(t, resp)
	require.Len(t, next.seen, 2)
	assert.Equal(t, "i", next.seen[0].Header.Get("X-Attempt"))
	assert.Equal(t, "ii", next.seen[1].Header.Get("X-Attempt"))
	assert.Equal(t, "1", next.seen[1].Header.Get("X-Own"))
	assert.Empty(t, r.Header.Get("X-Attempt"), "a round tripper does not touch the caller's request")
}

func TestPolicyOfTheContext(t *testing.T) {
	strict := policyOf(t, "steps:", "  - limit: {rate: 1/h}")
	tr := nethttp.NewTransport(answers(status(200)), policyOf(t, thrice...))
	ctx := nethttp.WithPolicy(t.Context(), strict)
	resp, err := tr.RoundTrip(get(t, target).WithContext(ctx))
	require.NoError(t, err)
	text(t, resp)
	_, err = tr.RoundTrip(get(t, target).WithContext(ctx))
	assert.ErrorIs(t, err, sluice.ErrRejected)
	resp, err = tr.RoundTrip(get(t, target).WithContext(nethttp.WithoutPolicy(ctx)))
	require.NoError(t, err)
	text(t, resp)
	_, ok := nethttp.Info(resp)
	assert.False(t, ok, "untouched")
}

func TestOutcomesAndMethods(t *testing.T) {
	next := answers(status(418), status(200))
	p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none, methods: [POST]}", "outcomes: {fail: [418], ignore: [5xx]}")
	resp, err := nethttp.NewTransport(next, p).RoundTrip(request(t, "POST", target, nil))
	require.NoError(t, err)
	text(t, resp)
	assert.Equal(t, 200, resp.StatusCode, "the policy's own")

	next = answers(status(404), status(200))
	tr := nethttp.NewTransport(next, p, nethttp.WithMethods("GET"),
		nethttp.WithOutcomes(policy.Outcomes{Fail: policy.Class{Codes: []int{404}}}))
	resp, err = tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	text(t, resp)
	assert.Equal(t, 200, resp.StatusCode, "the options'")
}

func TestBreakerForEachHost(t *testing.T) {
	bad := "bad.test:8080"
	next := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == bad {
			return status(500)(r)
		}
		return status(200)(r)
	})
	tr := nethttp.NewTransport(next, policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}, open: 1h, per: host}"))
	do := func(host string) (int, error) {
		resp, err := tr.RoundTrip(get(t, "http://"+host+"/"))
		if err != nil {
			return 0, err
		}
		text(t, resp)
		return resp.StatusCode, nil
	}
	code, err := do(bad)
	assert.NoError(t, err)
	assert.Equal(t, 500, code)
	_, err = do(bad)
	assert.ErrorIs(t, err, sluice.ErrRejected)
	for _, host := range []string{"good.test", "bad.test", "bad.test:80"} {
		code, err = do(host)
		assert.NoError(t, err, host)
		assert.Equal(t, 200, code, host)
	}
}

func TestRoutedTransport(t *testing.T) {
	set := parse(t, `
version: 1
policies:
  p: {steps: [{limit: {rate: 1/1h, per: [ip, route]}}]}
routes:
  - {path: /v1/**, host: api.test, policy: p}
`)
	tr := nethttp.NewRoutedTransport(answers(status(200)), set)
	do := func(r *http.Request) error {
		resp, err := tr.RoundTrip(r)
		if err == nil {
			text(t, resp)
		}
		return err
	}
	for range 3 {
		assert.NoError(t, do(get(t, target)), "no route")
	}
	assert.NoError(t, do(get(t, "http://api.test:8080/v1/x")))
	assert.ErrorIs(t, do(get(t, "http://api.test/v1/y")), sluice.ErrRejected)

	// A proxy's request is judged as it came in.
	in := httptest.NewRequest("GET", "http://api.test/v1/x", nil)
	out := get(t, "http://10.0.0.1:9000/other").WithContext(nethttp.WithInbound(t.Context(), in))
	assert.NoError(t, do(out))
	assert.ErrorIs(t, do(out), sluice.ErrRejected)
	in.RemoteAddr = "192.0.2.2:1"
	assert.NoError(t, do(out))
}

func TestUpgradeHoldsItsPlaceUntilTheConnectionIsClosed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}))
	defer server.Close()
	p := policyOf(t, "steps:", "  - retry: 3", "  - bulkhead: 1", "  - timeout: 10s")
	r := get(t, server.URL)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	resp, err := nethttp.NewTransport(nil, p).RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	conn, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok)
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(all))
	assert.Equal(t, 0, free(t, p), "one direction ended, the other did not")
	require.NoError(t, conn.Close())
	assert.Equal(t, 1, free(t, p))
}

func TestHandlerThatTakesTheConnectionHoldsItsPlace(t *testing.T) {
	p := policyOf(t, "steps:", "  - bulkhead: 1")
	taken := make(chan net.Conn, 1)
	returned := make(chan struct{})
	inner := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		assert.NoError(t, err)
		taken <- conn
	}), p)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		close(returned)
	}))
	defer server.Close()
	client, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	_, err = io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	conn := <-taken
	<-returned
	assert.Equal(t, 0, free(t, p))
	_, err = io.WriteString(conn, "hello\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(client).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "hello\n", line)
	assert.IsType(t, &net.TCPConn{}, conn.(interface{ NetConn() net.Conn }).NetConn())
	conn.Close()
	conn.Close()
	assert.Equal(t, 1, free(t, p))
}

func TestConnectionOfAnAbandonedAnswerIsUsedAgain(t *testing.T) {
	var connections, requests atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%3 != 0 {
			w.WriteHeader(503)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	next := &http.Transport{}
	defer next.CloseIdleConnections()
	client := &http.Client{Transport: nethttp.NewTransport(next, policyOf(t, "steps:", "  - timeout: 1m", "  - retry: {attempts: 3, backoff: none}", "  - bulkhead: 1"))}
	for range 10 {
		resp, err := client.Do(get(t, server.URL))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Len(t, text(t, resp), 10_000)
	}
	assert.EqualValues(t, 30, requests.Load())
	// The transport of net/http drops a connection whose goroutine for writes is 50 ms late.
	assert.LessOrEqual(t, connections.Load(), int64(3))
}

func TestConcurrentUse(t *testing.T) {
	p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: none}", "  - bulkhead: {concurrent: 3, wait: 1m}")
	tr := nethttp.NewTransport(answers(status(503)), p)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			resp, err := tr.RoundTrip(get(t, target).WithContext(context.Background()))
			if assert.NoError(t, err) {
				text(t, resp)
			}
		})
	}
	all.Wait()
	assert.Equal(t, 3, free(t, p))
}
