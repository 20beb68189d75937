//go:build unix

package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/pipes"
)

// await waits until the client has closed a connection.
func (s *server) await(number int) {
	s.mu.Lock()
	closed := s.closed[number]
	s.mu.Unlock()
	<-closed
}

// conn returns the server's side of a connection.
func (s *server) conn(number int) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[number]
}

// TestConnectionIsUsedAgain sends requests one after another.
func TestConnectionIsUsedAgain(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, n int, _ string) bool {
		return says(conn, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", n))
	})
	transport := s.transport()
	for n := range 5 {
		assert.Equal(t, fmt.Sprint(n), s.get(transport, "/x"))
	}
	assert.Equal(t, 1, s.connections())
}

// TestIdleConnectionThatWasClosed has a server close a connection between two requests of
// which the second must not be repeated.
func TestIdleConnectionThatWasClosed(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	assert.Equal(t, "hello", s.get(transport, "/x"))
	require.NoError(t, s.conn(0).Close())
	waitFor(t, transport)
	resp, err := transport.RoundTrip(s.request(t.Context(), http.MethodPost, "/x"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, 2, s.connections())
}

// waitFor waits until the idle connection has something to read, which is what a request
// looks for.
func waitFor(t *testing.T, transport *Transport) {
	t.Helper()
	transport.mu.Lock()
	raw, err := transport.idle[0].raw.(*net.TCPConn).SyscallConn()
	transport.mu.Unlock()
	require.NoError(t, err)
	tries := 0
	// The second call comes when the socket can be read.
	require.NoError(t, raw.Read(func(fd uintptr) bool {
		tries++
		return tries > 1 || hasInput(fd)
	}))
}

// TestUnsolicitedAnswer has a server send an answer before the request, which must not be
// taken for the answer of the next one.
func TestUnsolicitedAnswer(t *testing.T) {
	s := newServer(t, func(conn net.Conn, number, _ int, _ string) bool {
		return says(conn, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d", number))
	})
	transport := s.transport()
	assert.Equal(t, "0", s.get(transport, "/x"))
	require.True(t, says(s.conn(0), "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
	waitFor(t, transport)
	assert.Equal(t, "1", s.get(transport, "/x"))
	s.await(0)
	assert.Len(t, s.heads, 2, "the connection got no second request")
}

// TestRepeats has a server close a connection when the second request has come on it.
func TestRepeats(t *testing.T) {
	for name, c := range map[string]struct {
		method   string
		header   []string
		repeated bool
	}{
		"GET":                {"GET", nil, true},
		"HEAD":               {"HEAD", nil, true},
		"OPTIONS":            {"OPTIONS", nil, true},
		"POST":               {"POST", nil, false},
		"DELETE":             {"DELETE", nil, false},
		"POST with a key":    {"POST", []string{"Idempotency-Key", "a"}, true},
		"DELETE with a key":  {"DELETE", []string{"X-Idempotency-Key", "a"}, true},
		"a method of theirs": {"PROPFIND", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(conn net.Conn, number, n int, _ string) bool {
				return (number > 0 || n == 0) && says(conn, hello)
			})
			transport := s.transport()
			s.get(transport, "/first")
			resp, err := transport.RoundTrip(s.request(t.Context(), c.method, "/second", c.header...))
			if !c.repeated {
				require.ErrorIs(t, err, io.EOF)
				assert.Equal(t, 1, s.connections())
				return
			}
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			assert.Equal(t, 2, s.connections())
		})
	}
}

// TestNewConnectionIsNotRepeated has a server close each connection at its first request.
func TestNewConnectionIsNotRepeated(t *testing.T) {
	s := newServer(t, func(net.Conn, int, int, string) bool { return false })
	_, err := s.transport().RoundTrip(s.request(t.Context(), http.MethodGet, "/x"))
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, 1, s.connections())
}

// TestAnswerThatIsNotRead closes answers before their end.
func TestAnswerThatIsNotRead(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	for range 2 {
		resp, err := transport.RoundTrip(s.request(t.Context(), http.MethodGet, "/x"))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.NoError(t, resp.Body.Close())
		_, err = resp.Body.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
	}
	s.await(0)
	s.await(1)
}

// TestReady has bodies whose end has come and others.
func TestReady(t *testing.T) {
	for answer, want := range map[string]bool{
		hello: true,
		"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello":                       false,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n": false,
	} {
		s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, answer) })
		resp, err := s.transport().RoundTrip(s.request(t.Context(), http.MethodGet, "/x"))
		require.NoError(t, err)
		assert.Equal(t, want, resp.Body.(*body).Ready(), answer)
		require.NoError(t, resp.Body.Close())
	}
}

// TestIdleConnectionsAreBounded has more answers at a time than may be kept.
func TestIdleConnectionsAreBounded(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	transport.rest.MaxIdleConnsPerHost = 2
	var bodies []io.ReadCloser
	for range 3 {
		resp, err := transport.RoundTrip(s.request(t.Context(), http.MethodGet, "/x"))
		require.NoError(t, err)
		bodies = append(bodies, resp.Body)
	}
	for _, b := range bodies {
		_, err := io.Copy(io.Discard, b)
		require.NoError(t, err)
	}
	s.await(2)
	assert.Len(t, transport.idle, 2)
	transport.CloseIdleConnections()
	s.await(0)
	s.await(1)
}

// TestIdleConnectionsGetOld moves the times at which connections became idle.
func TestIdleConnectionsGetOld(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	assert.Equal(t, "hello", s.get(transport, "/x"))
	transport.idle[0].since = time.Now().Add(-2 * time.Minute)
	assert.Equal(t, "hello", s.get(transport, "/x"))
	s.await(0)
	assert.Equal(t, 2, s.connections())

	transport.sweep()
	require.Len(t, transport.idle, 1, "it is not old")
	transport.idle[0].since = time.Now().Add(-2 * time.Minute)
	transport.sweep()
	assert.Empty(t, transport.idle)
	s.await(1)
}

// TestClosedWhileInUse closes idle connections while a request has one.
func TestClosedWhileInUse(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	resp, err := transport.RoundTrip(s.request(t.Context(), http.MethodGet, "/x"))
	require.NoError(t, err)
	transport.CloseIdleConnections()
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	s.await(0)
}

// late is a context that a timeout ends.
type late struct{ context.Context }

func (c late) Err() error {
	if c.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// own is the context of an attempt.
type own struct{ context.Context }

func (c own) Value(key any) any {
	if _, ok := key.(attempt.SelfKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// TestDials has connections that are made on a word of the test.
func TestDials(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	dial := transport.rest.DialContext
	began, permit, given := make(chan struct{}), make(chan error), make(chan error)
	transport.rest.DialContext = whileWanted(func(ctx context.Context, network, address string) (net.Conn, error) {
		began <- struct{}{}
		select {
		case err := <-permit:
			if err != nil {
				return nil, err
			}
		case <-ctx.Done():
			given <- ctx.Err()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	})
	type result struct {
		resp *http.Response
		err  error
	}
	send := func(ctx context.Context) chan result {
		got := make(chan result, 1)
		go func() {
			resp, err := transport.RoundTrip(s.request(ctx, http.MethodGet, "/x"))
			got <- result{resp, err}
		}()
		return got
	}

	down := errors.New("down")
	failing := send(t.Context())
	<-began
	permit <- down
	require.ErrorIs(t, (<-failing).err, down)

	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := send(own{ctx})
	<-began
	cancel(gone)
	require.ErrorIs(t, (<-cancelled).err, gone)
	require.ErrorIs(t, <-given, context.Canceled, "no connection is made for a request that is gone")

	ctx, cancel = context.WithCancelCause(t.Context())
	late := send(own{late{ctx}})
	<-began
	cancel(gone)
	require.ErrorIs(t, (<-late).err, gone)
	waiting := send(t.Context())
	<-began
	// The connection that was begun for the request before serves this one.
	permit <- nil
	first := <-waiting
	require.NoError(t, first.err)

	last := send(t.Context())
	<-began
	// The one that becomes idle serves it before a new one is there.
	_, err := io.Copy(io.Discard, first.resp.Body)
	require.NoError(t, err)
	second := <-last
	require.NoError(t, second.err)
	assert.Equal(t, 1, s.connections())
	require.NoError(t, second.resp.Body.Close())
	permit <- down
	permit <- down
	assert.Empty(t, transport.wants)
}

// TestCuts ends the context of a request while it waits for the headers and for the body.
func TestCuts(t *testing.T) {
	gone := errors.New("gone")
	for name, half := range map[string]string{"headers": "HTTP/1.1 200 OK\r\n", "body": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"} {
		for how, begin := range map[string]func() (context.Context, func()){
			"of package context": func() (context.Context, func()) {
				ctx, cancel := context.WithCancelCause(t.Context())
				return ctx, func() { cancel(gone) }
			},
			"that is hooked": func() (context.Context, func()) {
				ctx := &attempt.Cancellable{}
				ctx.Init(t.Context(), clock.Never, nil)
				return ctx, func() { ctx.Cancel(gone) }
			},
		} {
			t.Run(name+" with a context "+how, func(t *testing.T) {
				ctx, cancel := begin()
				s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool {
					if !says(conn, half) {
						return false
					}
					if name == "headers" {
						cancel()
					}
					return true
				})
				resp, err := s.transport().RoundTrip(s.request(ctx, http.MethodGet, "/x"))
				if name == "body" {
					require.NoError(t, err)
					_, err = io.ReadFull(resp.Body, make([]byte, 3))
					require.NoError(t, err)
					cancel()
					_, err = resp.Body.Read(make([]byte, 3))
					_, again := resp.Body.Read(make([]byte, 3))
					require.Equal(t, err, again)
					require.NoError(t, resp.Body.Close())
				}
				require.Equal(t, gone, err)
				s.await(0)
			})
		}
	}
}

// TestCutAfterTheEnd cancels contexts whose exchanges are over: the connection belongs to
// others.
func TestCutAfterTheEnd(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	for _, hooked := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		if hooked {
			own := &attempt.Cancellable{}
			own.Init(ctx, clock.Never, nil)
			ctx = own
		}
		resp, err := transport.RoundTrip(s.request(ctx, http.MethodGet, "/x"))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
		cancel()
		assert.Equal(t, "hello", s.get(transport, "/x"))
	}
	assert.Equal(t, 1, s.connections())
}

// TestContextThatIsOver sends nothing.
func TestContextThatIsOver(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	_, err := s.transport().RoundTrip(s.request(ctx, http.MethodGet, "/x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.Zero(t, s.connections())
}

// TestInterimThatFails ends the request.
func TestInterimThatFails(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool {
		return says(conn, "HTTP/1.1 103 Early Hints\r\n\r\n"+hello)
	})
	ctx := told{t.Context(), func(int, textproto.MIMEHeader) error { return io.ErrShortWrite }}
	_, err := s.transport().RoundTrip(s.request(ctx, http.MethodGet, "/x"))
	require.ErrorIs(t, err, io.ErrShortWrite)
	s.await(0)
}

// inBubble has a request whose server says a text and then nothing, in virtual time.
func inBubble(t *testing.T, says string, test func(t *testing.T, send func(ctx context.Context) (*http.Response, error))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := pipes.Listen()
		over := make(chan struct{})
		go func() {
			defer close(over)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1000))
			_, _ = io.WriteString(conn, says)
			_, _ = conn.Read(make([]byte, 1))
		}()
		rest := standard()
		rest.DialContext = l.Dial
		transport := New(rest, &url.URL{Scheme: "http", Host: "a.test"})
		test(t, func(ctx context.Context) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://a.test/x", nil)
			require.NoError(t, err)
			return transport.RoundTrip(req)
		})
		assert.NoError(t, l.Close())
		<-over // the connection was closed
	})
}

// TestDeadlines has contexts whose deadlines come while a request waits.
func TestDeadlines(t *testing.T) {
	cut := errors.New("cut")
	for _, says := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"} {
		for how, begin := range map[string]func(t *testing.T) (context.Context, func()){
			"package context": func(t *testing.T) (context.Context, func()) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cut)
				return ctx, cancel
			},
			"hooked": func(t *testing.T) (context.Context, func()) {
				ctx := &attempt.Cancellable{}
				ctx.Init(t.Context(), attempt.Now().Add(time.Second), cut)
				return ctx, func() { ctx.Cancel(nil) }
			},
		} {
			t.Run(fmt.Sprintf("%s %.15q", how, says), func(t *testing.T) {
				inBubble(t, says, func(t *testing.T, send func(ctx context.Context) (*http.Response, error)) {
					ctx, cancel := begin(t)
					defer cancel()
					start := time.Now()
					resp, err := send(ctx)
					if says != "" {
						require.NoError(t, err)
						_, err = io.ReadAll(resp.Body)
					}
					require.Equal(t, cut, err)
					assert.Equal(t, time.Second, time.Since(start))
				})
			})
		}
	}
}

// TestDeadlineThatIsLifted has one that was lifted when the headers had come.
func TestDeadlineThatIsLifted(t *testing.T) {
	inBubble(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", func(t *testing.T, send func(ctx context.Context) (*http.Response, error)) {
		ctx := &attempt.Cancellable{}
		ctx.Init(t.Context(), attempt.Now().Add(time.Second), nil)
		resp, err := send(ctx)
		require.NoError(t, err)
		ctx.Lift()
		start := time.Now()
		time.AfterFunc(time.Hour, func() { ctx.Cancel(io.ErrClosedPipe) })
		_, err = io.ReadAll(resp.Body)
		require.Equal(t, io.ErrClosedPipe, err)
		assert.Equal(t, time.Hour, time.Since(start))
	})
}

// TestCloseWhileAReadWaits closes a body whose rest is waited for.
func TestCloseWhileAReadWaits(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, Patience, time.Second} {
		inBubble(t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", func(t *testing.T, send func(ctx context.Context) (*http.Response, error)) {
			ctx := &attempt.Cancellable{}
			ctx.Init(t.Context(), clock.Never, nil)
			resp, err := send(ctx)
			require.NoError(t, err)
			time.AfterFunc(after, func() { assert.NoError(t, resp.Body.Close()) })
			start := time.Now()
			_, err = io.ReadAll(resp.Body)
			require.ErrorIs(t, err, errClosedBody)
			assert.Equal(t, after, time.Since(start))
			require.True(t, ctx.Attach(&attempt.Hook{F: func() {}}), "the hook is detached")
		})
	}
}

// TestClientThatLeaves has the parent of a context end, which a request notices when it
// has waited for a time.
func TestClientThatLeaves(t *testing.T) {
	for _, c := range []struct{ after, noticed time.Duration }{{time.Millisecond, Patience}, {Patience / 2, Patience}, {time.Second, time.Second}} {
		t.Run(c.after.String(), func(t *testing.T) {
			inBubble(t, "", func(t *testing.T, send func(ctx context.Context) (*http.Response, error)) {
				client, leave := context.WithCancelCause(t.Context())
				ctx := &attempt.Cancellable{}
				ctx.Init(client, clock.Never, nil)
				start := time.Now()
				time.AfterFunc(c.after, func() { leave(io.ErrClosedPipe) })
				_, err := send(ctx)
				require.Equal(t, io.ErrClosedPipe, err)
				assert.Equal(t, c.noticed, time.Since(start))
			})
		})
	}
}

// TestManyAtOnce has requests of many goroutines, some of which are cancelled, and each
// gets its own answer.
func TestManyAtOnce(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, n int, head string) bool {
		path, _, _ := strings.Cut(strings.TrimPrefix(head, "GET /"), " ")
		return says(conn, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)) && n < 20
	})
	transport := s.transport()
	const seed = 1
	t.Logf("seed %d", seed)
	var all sync.WaitGroup
	for g := range 8 {
		random := rand.New(rand.NewPCG(seed, uint64(g)))
		all.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				own := &attempt.Cancellable{}
				own.Init(ctx, attempt.Now().Add(time.Minute), nil)
				path := fmt.Sprintf("%d-%d", g, n)
				leaves := random.IntN(4) == 0
				if leaves {
					go own.Cancel(nil)
				}
				resp, err := transport.RoundTrip(s.request(own, http.MethodGet, "/"+path))
				if err == nil {
					var body []byte
					if body, err = io.ReadAll(resp.Body); err == nil {
						assert.Equal(t, path, string(body))
					}
					assert.NoError(t, resp.Body.Close())
				}
				if err != nil {
					assert.True(t, leaves, err)
					assert.ErrorIs(t, err, context.Canceled)
				}
				cancel()
			}
		})
	}
	all.Wait()
}

// TestOver: net/http takes a request that the transport would take itself.
func TestOver(t *testing.T) {
	at := &url.URL{Scheme: "http", Host: "upstream.test:81"}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://upstream.test:81/x", nil)
	require.NoError(t, err)
	rest := &http.Transport{DialContext: new(net.Dialer).DialContext}
	_, own := New(rest, at).head(nil, req)
	require.True(t, own)
	_, own = Over(rest).head(nil, req)
	require.False(t, own)
}
