package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/pipes"
	"github.com/sluice-go/sluice/internal/testenv"
)

// What a stranger sends does not change whose request it is: per: ip and conditions see
// the peer, or what the configured hops say.

// stranger is the address of the client of these tests, hop the address of a trusted hop.
var (
	stranger = netip.MustParseAddr("2001:db8:1:2:3:4:5:6")
	hop      = netip.MustParseAddr("192.0.2.1")
)

// strangers is a server whose routes tell which address it sees: /denied denies the
// stranger, /spared all others, and the stranger has taken the only permit of /counted.
type strangers struct {
	front *pipes.Listener
	peer  atomic.Pointer[net.TCPAddr]
	two   http.Client // of HTTP/2
}

// from is a listener whose connections come from a peer.
type from struct {
	*pipes.Listener
	peer *atomic.Pointer[net.TCPAddr]
}

type fromConn struct {
	net.Conn
	peer *net.TCPAddr
}

func (l from) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return fromConn{c, l.peer.Load()}, nil
}

func (c fromConn) RemoteAddr() net.Addr { return c.peer }

func newStrangers(t testing.TB, trusted ...netip.Prefix) *strangers {
	document := fmt.Sprintf(`version: 1
policies:
  denied: {deny: {ip: %q}, steps: [limit: 9/1s]}
  spared: {deny: {not: {ip: %q}}, steps: [limit: 1000000/1s]}
  counted: {steps: [limit: {rate: 1/1h, per: ip}]}
routes: [{path: /denied, policy: denied}, {path: /spared, policy: spared}, {path: /counted, policy: counted}]
`, stranger, stranger)
	back := pipes.Listen()
	s := &strangers{front: pipes.Listen()}
	server, err := New(Config{
		File: "policy.yaml", Source: []byte(document), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
		Log: slog.New(slog.DiscardHandler), Trusted: trusted, IPv6Prefix: 64,
		dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return back.Dial(ctx, network, address)
		},
	})
	require.NoError(t, err)
	behind := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ErrorLog: log.New(io.Discard, "", 0)}
	proxy := server.front()
	done := make(chan error, 2)
	go func() { done <- behind.Serve(back) }()
	go func() { done <- serveFront(proxy, from{s.front, &s.peer}) }()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s.two.Transport = &http.Transport{Protocols: protocols, DialContext: s.front.Dial, DisableKeepAlives: true}
	t.Cleanup(func() {
		require.NoError(t, proxy.Close())
		for _, u := range server.upstreams {
			u.transport.CloseIdleConnections()
		}
		require.NoError(t, behind.Close())
		for range 2 {
			require.ErrorIs(t, <-done, http.ErrServerClosed)
		}
	})
	require.Equal(t, 200, s.one(t, stranger, "GET /counted HTTP/1.1\r\nHost: api.test\r\n\r\n"))
	return s
}

// one sends bytes over a connection of a peer and returns the status of the first answer.
func (s *strangers) one(t testing.TB, peer netip.Addr, text string) int {
	s.peer.Store(net.TCPAddrFromAddrPort(netip.AddrPortFrom(peer, 4711)))
	conn, err := s.front.Dial(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, text) }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err, "%q", text)
	return resp.StatusCode
}

// wants are the status of the stranger on each route.
var wants = map[string]int{"/denied": 403, "/spared": 200, "/counted": 429}

// check sends lines of a header from a peer. The request is the stranger's.
func (s *strangers) check(t testing.TB, peer netip.Addr, lines string) {
	for path, want := range wants {
		got := s.one(t, peer, "GET "+path+" HTTP/1.1\r\nHost: api.test\r\n"+lines+"\r\n\r\n")
		if got != want && got != 400 && got != 431 {
			t.Fatalf("%s: got %d, want %d: the request was taken for another's: %q", path, got, want, lines)
		}
	}
}

// check2 sends lines of a header over HTTP/2.
func (s *strangers) check2(t testing.TB, peer netip.Addr, lines []string) {
	for path, want := range wants {
		s.peer.Store(net.TCPAddrFromAddrPort(netip.AddrPortFrom(peer, 4711)))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.test"+path, nil)
		require.NoError(t, err)
		for _, line := range lines {
			if name, value, _ := strings.Cut(line, ": "); !strings.EqualFold(name, "Connection") {
				r.Header.Add(name, strings.TrimSpace(value))
			}
		}
		resp, err := s.two.Do(r)
		require.NoError(t, err, "%q", lines)
		resp.Body.Close()
		require.Equal(t, 2, resp.ProtoMajor)
		require.Equal(t, want, resp.StatusCode, "%s: the request was taken for another's: %q", path, lines)
	}
}

// behindHops are what the hops add to the header of the stranger's request.
var behindHops = []string{
	"X-Forwarded-For: " + stranger.String(),
	"X-Forwarded-For: [" + stranger.String() + "]:5, 192.0.2.7",
	"x-forwarded-for: " + strings.ToUpper(stranger.String()) + "\r\nX-Forwarded-For: 192.0.2.8:80",
}

// TestPeer draws lines of a header, over HTTP/1 and HTTP/2, from the stranger and through
// trusted hops.
func TestPeer(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(), 0xfe))
	alone, behind := newStrangers(t), newStrangers(t, netip.MustParsePrefix("192.0.2.0/24"))
	for i := range 150 * testenv.Times() {
		lines := testenv.Forged(r, testenv.Address(r))
		text := strings.Join(lines, "\r\n")
		alone.check(t, stranger, text)
		behind.check(t, stranger, text)
		added := behindHops[i%len(behindHops)]
		behind.check(t, hop, text+"\r\n"+added)
		alone.check2(t, stranger, lines)
		behind.check2(t, hop, append(lines, strings.Split(added, "\r\n")...))
	}
}

// TestPeerOfNoProxyProtocol: where the PROXY protocol is not configured its header is no
// request.
func TestPeerOfNoProxyProtocol(t *testing.T) {
	s := newStrangers(t)
	for _, header := range []string{
		"PROXY TCP4 6.6.6.6 127.0.0.1 1 2\r\n", "PROXY TCP6 2001:db8::6 ::1 1 2\r\n", "PROXY UNKNOWN\r\n",
		"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\x06\x06\x06\x06\x7f\x00\x00\x01\x00\x01\x00\x02",
	} {
		require.Equal(t, 400, s.one(t, stranger, header+"GET /spared HTTP/1.1\r\nHost: api.test\r\n\r\n"), "%q", header)
	}
}

// FuzzPeer sends lines of a header from the stranger, and through a trusted hop.
func FuzzPeer(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		f.Add([]byte(strings.Join(testenv.Forged(r, stranger), "\r\n")))
	}
	alone, behind := newStrangers(f), newStrangers(f, netip.MustParsePrefix("192.0.2.0/24"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Trim(b, "\r\n")
		lines := string(b)
		// One request without a body, and no upgrade: others have no answer or several.
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: api.test\r\n" + lines + "\r\nX: y\r\n\r\n")))
		if err != nil || req.Header.Get("X") != "y" || req.ContentLength != 0 || req.Header.Get("Expect") != "" || req.Header.Get("Upgrade") != "" {
			return
		}
		alone.check(t, stranger, lines+"\r\nX: y")
		behind.check(t, hop, lines+"\r\n"+behindHops[len(lines)%len(behindHops)])
	})
}
