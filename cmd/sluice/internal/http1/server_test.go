//go:build unix

package http1

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server answers requests on sockets by a script, and remembers what it got.
type server struct {
	t        *testing.T
	listener net.Listener
	// serve answers the request n of the connection of this number, both from 0, and
	// reports whether the connection stays open.
	serve func(conn net.Conn, number, n int, head string) (open bool)

	mu     sync.Mutex
	conns  []net.Conn
	heads  []string
	all    sync.WaitGroup
	closed []chan struct{} // by connection: the client has closed it
}

func newServer(t *testing.T, serve func(conn net.Conn, number, n int, head string) bool) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &server{t: t, listener: l, serve: serve}
	s.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			number := len(s.conns)
			s.conns, s.closed = append(s.conns, conn), append(s.closed, make(chan struct{}))
			s.mu.Unlock()
			s.all.Go(func() { s.run(conn, number) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		s.mu.Lock()
		for _, conn := range s.conns {
			_ = conn.Close()
		}
		s.mu.Unlock()
		s.all.Wait()
	})
	return s
}

func (s *server) run(conn net.Conn, number int) {
	s.mu.Lock()
	closed := s.closed[number]
	s.mu.Unlock()
	defer close(closed)
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; ; n++ {
		var head strings.Builder
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
			if line == "\r\n" {
				break
			}
		}
		s.mu.Lock()
		s.heads = append(s.heads, head.String())
		s.mu.Unlock()
		if !s.serve(conn, number, n, head.String()) {
			return
		}
	}
}

// connections returns how many were made.
func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *server) url() *url.URL { return &url.URL{Scheme: "http", Host: s.listener.Addr().String()} }

// standard returns a transport of net/http as serve has it.
func standard() *http.Transport {
	return &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
}

func (s *server) transport() *Transport {
	t := New(standard(), s.url())
	s.t.Cleanup(t.CloseIdleConnections)
	return t
}

func (s *server) request(ctx context.Context, method, path string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.url().String()+path, nil)
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// get sends a GET, reads the answer to its end and returns its body.
func (s *server) get(t *Transport, path string) string {
	s.t.Helper()
	resp, err := t.RoundTrip(s.request(s.t.Context(), http.MethodGet, path))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return string(body)
}

// says writes an answer.
func says(conn net.Conn, text string) bool {
	_, err := io.WriteString(conn, text)
	return err == nil
}

// hello is an answer after which a connection can be used again.
const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
