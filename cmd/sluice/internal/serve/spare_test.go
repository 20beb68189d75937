package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// table is a process that may have so many descriptors more.
type table struct{ left int }

// tableEntry has one of them until it is closed.
type tableEntry struct {
	net.Conn
	of     *table
	closed bool
}

func (e *tableEntry) Close() error {
	if e.closed {
		return net.ErrClosed
	}
	e.closed = true
	e.of.left++
	return nil
}

func (t *table) take() (*tableEntry, error) {
	if t.left == 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	t.left--
	return &tableEntry{of: t}, nil
}

// Accept returns connections of clients that wait.
func (t *table) Accept() (net.Conn, error) {
	e, err := t.take()
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Addr and Close complete net.Listener.
func (t *table) Addr() net.Addr { return nil }
func (t *table) Close() error   { return nil }

func (t *table) dial(context.Context, string, string) (net.Conn, error) { return t.Accept() }

// tableListener is a listener of a process. Before each Accept it calls before.
type tableListener struct {
	*table
	before func()
}

func (l *tableListener) Accept() (net.Conn, error) {
	l.before()
	return l.table.Accept()
}

func (l *tableListener) SetDeadline(time.Time) error { return nil }

// newSpares returns the spares of a process with room for as many descriptors more.
func newSpares(t *testing.T, room int) (*spares, *table) {
	of := &table{left: spareDescriptors + room}
	s := &spares{open: func() (io.Closer, error) { return of.take() }}
	s.begin()
	require.Zero(t, s.missing.Load())
	require.Equal(t, room, of.left)
	return s, of
}

// TestSpareIsLent to connections of the admin address when no descriptor is left, and taken
// back when they are closed.
func TestSpareIsLent(t *testing.T) {
	s, of := newSpares(t, 0)
	l := &spareListener{&tableListener{table: of, before: func() {}}, s}
	for range 3 {
		var conns []net.Conn
		for range spareDescriptors {
			conn, err := l.Accept()
			require.NoError(t, err)
			conns = append(conns, conn)
		}
		_, err := l.Accept()
		var op *net.OpError
		require.ErrorAs(t, err, &op, "as net/http needs it")
		require.True(t, op.Temporary()) //nolint:staticcheck // net/http asks for it
		w := httptest.NewRecorder()
		s.closing(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		assert.Equal(t, "close", w.Header().Get("Connection"))
		for _, conn := range conns {
			require.NoError(t, conn.Close())
		}
		require.Zero(t, s.missing.Load())
	}
	w := httptest.NewRecorder()
	s.closing(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	assert.Empty(t, w.Header().Get("Connection"))
	s.end()
	assert.Equal(t, spareDescriptors, of.left)
	assert.False(t, s.lend())
}

// TestSpareIsNotStolen by clients and upstreams that are quicker than the admin address.
func TestSpareIsNotStolen(t *testing.T) {
	s, of := newSpares(t, 0)
	clients := &clientsListener{Listener: of, spares: s}
	dial := s.guard(of.dial)
	accepts := 0
	admin := &spareListener{&tableListener{table: of, before: func() {
		if accepts++; accepts == 1 {
			return
		}
		_, err := clients.Accept()
		assert.ErrorIs(t, err, syscall.EMFILE)
		_, err = dial(t.Context(), "tcp", "")
		assert.ErrorIs(t, err, syscall.EMFILE)
		assert.Equal(t, 1, of.left, "what was lent is still there")
	}}, s}
	conn, err := admin.Accept()
	require.NoError(t, err)
	assert.Equal(t, 2, accepts)
	_, err = clients.Accept()
	assert.ErrorIs(t, err, syscall.EMFILE)
	require.NoError(t, conn.Close())
	assert.Zero(t, s.missing.Load())
}

// TestGuardedDial gives a connection up while spares are missing, and keeps it when there is
// room for both.
func TestGuardedDial(t *testing.T) {
	s, of := newSpares(t, 0)
	require.True(t, s.lend())
	s.lent()
	dial := s.guard(of.dial)
	_, err := dial(t.Context(), "tcp", "")
	assert.True(t, unsent(err), "it may go to another upstream")
	assert.True(t, errors.Is(err, syscall.EMFILE))
	assert.Zero(t, s.missing.Load(), "the spare has its descriptor")
	of.left = 1
	_, err = dial(t.Context(), "tcp", "")
	assert.NoError(t, err)
	require.True(t, s.lend())
	s.lent()
	of.left = 2
	_, err = dial(t.Context(), "tcp", "")
	assert.NoError(t, err)
	assert.Zero(t, s.missing.Load())
}

// TestUpstreamsGiveWay: a connection to an upstream is closed while a spare is missing.
func TestUpstreamsGiveWay(t *testing.T) {
	inBubble(t, open, func(http.ResponseWriter, *http.Request) {}, func(b *bubble) {
		b.spares.open = func() (io.Closer, error) { return nil, syscall.EMFILE }
		b.spares.begin()
		resp, _ := b.get("/x")
		assert.Equal(t, http.StatusBadGateway, resp.StatusCode)
		assert.Contains(t, b.journal.await(t, "no answer from the upstream")["error"], "too many open files")
		b.spares.end()
		resp, _ = b.get("/x")
		assert.Equal(t, http.StatusOK, resp.StatusCode)
	})
}

// TestNoSparesToBeHad: where no file can be opened for another reason than a lack of
// descriptors, no connection is closed for a spare.
func TestNoSparesToBeHad(t *testing.T) {
	s := spares{open: func() (io.Closer, error) { return nil, os.ErrNotExist }}
	s.begin()
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	assert.False(t, s.claim(server))
	assert.False(t, s.lend())
}
