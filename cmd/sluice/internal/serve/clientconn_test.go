package serve

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connect opens a connection to an address on a socket.
func connect(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn, bufio.NewReader(conn)
}

func asks(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

func offers(path string) string {
	return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
}

// answers reads answers whose bodies are wanted.
func answers(t *testing.T, r *bufio.Reader, want ...string) {
	t.Helper()
	for _, path := range want {
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, path, string(body))
	}
}

func send(t *testing.T, conn io.Writer, texts ...string) {
	t.Helper()
	_, err := io.WriteString(conn, strings.Join(texts, ""))
	require.NoError(t, err)
}

// TestClientIsWatched has a client leave while the last of its requests is served. The
// test ends when the upstream notices it.
func TestClientIsWatched(t *testing.T) {
	for name, requests := range map[string][]string{
		"at the first":    {asks("/slow")},
		"at the third":    {asks("/a"), asks("/b"), asks("/slow")},
		"after a body":    {asks("/a"), post("/b", 5) + "hello", asks("/slow")},
		"with a body":     {asks("/a"), asks("/b"), post("/slow", 5) + "hello"},
		"with an upgrade": {asks("/a"), asks("/b"), offers("/slow")},
	} {
		t.Run(name, func(t *testing.T) {
			began, left := make(chan struct{}), make(chan struct{})
			p := run(t, open, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.URL.Path == "/slow" {
					close(began)
					<-r.Context().Done()
					close(left)
					return
				}
				_, _ = io.WriteString(w, r.URL.Path)
			}), func(c *Config) { c.Upgrades = []string{"websocket"} })
			conn, r := connect(t, strings.TrimPrefix(p.url, "http://"))
			last := len(requests) - 1
			for i, text := range requests[:last] {
				send(t, conn, text)
				answers(t, r, []string{"/a", "/b"}[i])
			}
			send(t, conn, requests[last])
			<-began
			require.NoError(t, conn.Close())
			<-left
		})
	}
}

// serveClients serves clientConns with a handler, and returns its address.
func serveClients(t *testing.T, handler func(c *clientConn, w http.ResponseWriter, r *http.Request)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{ConnContext: withClientConn, ConnState: handedOver, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := clientConnOf(r)
		c.begin(r)
		defer c.end()
		if r.URL.Path == known {
			_, _ = io.WriteString(w, c.isKnown())
			return
		}
		handler(c, w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(clientListener{l}) }()
	t.Cleanup(func() {
		assert.NoError(t, server.Close())
		assert.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return l.Addr().String()
}

// known is asked for until it is known where the server reads ahead to.
const known = "/known"

// isKnown answers it.
func (c *clientConn) isKnown() string {
	for range 1000 {
		c.mu.Lock()
		known := c.address != nil
		c.mu.Unlock()
		if known {
			return "yes"
		}
		runtime.Gosched()
	}
	return "no"
}

func waitUntilKnown(t *testing.T, conn net.Conn, r *bufio.Reader) {
	t.Helper()
	for body := []byte("no"); string(body) == "no"; {
		send(t, conn, asks(known))
		resp, err := http.ReadResponse(r, nil)
		require.NoError(t, err)
		body, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
	}
}

// watchOnceSkipped watches the client once the server has tried to read ahead.
func (c *clientConn) watchOnceSkipped(t *testing.T, gone func()) {
	t.Helper()
	for {
		c.mu.Lock()
		skipped := c.skipped
		c.mu.Unlock()
		if skipped {
			break
		}
		runtime.Gosched()
	}
	assert.True(t, c.watch(gone))
	assert.True(t, c.watch(gone), "it is watched")
}

// TestWatchKeepsWhatItReads has a client send requests while one is served that it is
// watched for.
func TestWatchKeepsWhatItReads(t *testing.T) {
	began, sent := make(chan struct{}), make(chan struct{})
	address := serveClients(t, func(c *clientConn, w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/slow" {
			c.watchOnceSkipped(t, func() { t.Error("the client is there") })
			began <- struct{}{}
			<-sent
			for !c.kept.Load() {
				runtime.Gosched()
			}
		}
		_, _ = io.WriteString(w, r.URL.Path+string(body))
	})
	conn, r := connect(t, address)
	waitUntilKnown(t, conn, r)
	for range 3 {
		send(t, conn, asks("/slow"))
		<-began
		send(t, conn, asks("/c"), post("/d", 5), "hello", asks("/e"))
		sent <- struct{}{}
		answers(t, r, "/slow", "/c", "/dhello", "/e")
	}
}

// TestWatchEnds has requests that are watched end while the client waits.
func TestWatchEnds(t *testing.T) {
	address := serveClients(t, func(c *clientConn, w http.ResponseWriter, r *http.Request) {
		c.watchOnceSkipped(t, func() { t.Error("the client is there") })
		_, _ = io.WriteString(w, r.URL.Path)
	})
	conn, r := connect(t, address)
	waitUntilKnown(t, conn, r)
	for _, path := range []string{"/a", "/b", "/c"} {
		send(t, conn, asks(path))
		answers(t, r, path)
	}
}

// TestWatchOfAConnectionThatIsTakenOver reads nothing of what follows.
func TestWatchOfAConnectionThatIsTakenOver(t *testing.T) {
	address := serveClients(t, func(c *clientConn, w http.ResponseWriter, r *http.Request) {
		c.watchOnceSkipped(t, func() { t.Error("the client is there") })
		conn, both, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		one := make([]byte, 1) // as the server's reads ahead
		for {
			if _, err := io.ReadFull(both, one); err != nil {
				return
			}
			_, _ = conn.Write(one)
		}
	})
	conn, r := connect(t, address)
	waitUntilKnown(t, conn, r)
	send(t, conn, offers("/x"))
	resp, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	assert.Equal(t, 101, resp.StatusCode)
	echo := make([]byte, 5)
	for range 2 {
		send(t, conn, "hello")
		_, err = io.ReadFull(r, echo)
		require.NoError(t, err)
		assert.Equal(t, "hello", string(echo))
	}
}

// TestOtherReadsAhead has a connection whose reads of a byte do not come from a server.
func TestOtherReadsAhead(t *testing.T) {
	here, there := clientPair(t)
	for _, length := range []int{1, 2, 1} {
		send(t, there, "abc"[:length])
		p := make([]byte, length)
		_, err := io.ReadFull(here, p)
		require.NoError(t, err)
		assert.Equal(t, "abc"[:length], string(p))
	}
	assert.False(t, here.watch(nil))
}

// clientPair returns both ends of a connection.
func clientPair(t *testing.T) (*clientConn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	there, _ := connect(t, l.Addr().String())
	here, err := clientListener{l}.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = here.Close() })
	return here.(*clientConn), there
}

// TestReadDeadlines sets deadlines in all orders of three. The last one counts.
func TestReadDeadlines(t *testing.T) {
	later, past, none := time.Now().Add(time.Hour), longAgo, time.Time{}
	all := []time.Time{later, past, none, later.Add(time.Hour)}
	for i, first := range all {
		for j, second := range all {
			for k, third := range all {
				here, there := clientPair(t)
				for _, at := range []time.Time{first, second, third} {
					require.NoError(t, here.SetReadDeadline(at))
				}
				if slices.Contains([]int{i, j, k}, 0) {
					require.NoError(t, here.SetDeadline(third))
				}
				if third == past {
					_, err := here.Read(make([]byte, 5))
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
					continue
				}
				send(t, there, "hello")
				n, err := here.Read(make([]byte, 5))
				require.NoError(t, err)
				assert.Equal(t, 5, n)
			}
		}
	}
}

// TestReadDeadlineOfAReadThatWaits is set when the one before is later, or there was none.
func TestReadDeadlineOfAReadThatWaits(t *testing.T) {
	for _, before := range []time.Time{{}, time.Now().Add(time.Hour)} {
		here, _ := clientPair(t)
		require.NoError(t, here.SetReadDeadline(before))
		failed := make(chan error, 1)
		go func() {
			_, err := here.Read(make([]byte, 5))
			failed <- err
		}()
		require.NoError(t, here.SetReadDeadline(longAgo))
		require.ErrorIs(t, <-failed, os.ErrDeadlineExceeded)
	}
}

// TestListenerThatFails has no connection to wrap.
func TestListenerThatFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	conn, err := clientListener{l}.Accept()
	assert.Nil(t, conn)
	assert.True(t, errors.Is(err, net.ErrClosed))
}
