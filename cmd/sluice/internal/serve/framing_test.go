package serve

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// contradicting are heads with a Transfer-Encoding that something else contradicts.
var contradicting = map[string]string{
	"an older version":               "POST /bad HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"an older version with a length": "POST /bad HTTP/1.0\r\nHost: x\r\nContent-Length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
	"an older GET":                   "GET /bad HTTP/1.0\r\nTransfer-Encoding: identity\r\n\r\n",
	"a length and chunks":            "POST /bad HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"chunks and a length":            "POST /bad HTTP/1.1\r\nHost: x\r\nTRANSFER-ENCODING: chunked\r\nX: y\r\ncontent-length:5\r\n\r\n0\r\n\r\n",
	"chunks and an empty length":     "POST /bad HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
	"line feeds":                     "POST /bad HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\nContent-Length: 5\n\n0\n\n",
}

// agreeing are requests that are framed in one way, the answers to which are 200.
var agreeing = []string{
	"GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
	"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 54\r\n\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nhello",
	"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n23;a=b\r\nContent-Length: 1\r\n\r\nGET / HTTP/1.0\r\n0\r\nContent-Length: 1\r\n\r\n",
	"POST /a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello",
	"GET /a?transfer-encoding:content-length: HTTP/1.1\r\nHost: x\r\nX-Transfer-Encoding: a\r\nX: Content-Length: 5\r\n\r\n",
}

// TestFramingIsRefused has contradicting heads alone and behind other requests, in one
// write and in many: the answer is 400, the connection is closed, and the upstream gets
// nothing of them.
func TestFramingIsRefused(t *testing.T) {
	for name, text := range contradicting {
		for _, before := range append(agreeing, "") {
			for _, piece := range []int{1, 7, 1 << 20} {
				t.Run(name, func(t *testing.T) {
					var seen paths
					inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						seen.add(r.URL.Path)
					}, func(b *bubble) {
						c := b.open("")
						go func() { writeIn(c, before+text+"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n", piece) }()
						answers, err := io.ReadAll(c.Conn)
						assert.NoError(t, err)
						if before != "" {
							assert.Contains(t, string(answers), " 200 OK\r\n")
							assert.Equal(t, []string{"/a"}, seen.all())
						} else {
							assert.Empty(t, seen.all())
						}
						assert.Equal(t, 1, strings.Count(string(answers), " 400 Bad Request\r\n"), "%s", answers)
						c.Close()
					})
				})
			}
		}
	}
}

func writeIn(w io.Writer, text string, piece int) {
	for text != "" {
		n := min(piece, len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return
		}
		text = text[n:]
	}
}

// TestFramingIsFollowed passes requests that are framed in one way, in pieces of every size,
// behind each other.
func TestFramingIsFollowed(t *testing.T) {
	all := []byte(strings.Join(agreeing, "") + strings.Join(agreeing, "\r\n"))
	for piece := 1; piece < len(all); piece++ {
		var f framing
		for rest := all; len(rest) > 0; {
			part := bytes.Clone(rest[:min(piece, len(rest))])
			n := f.pass(part)
			require.Equal(t, len(part), n)
			rest = rest[n:]
		}
		require.Equal(t, firstLine, f.part, piece)
	}
	var f framing
	require.Equal(t, 29, f.pass([]byte("GET /ws HTTP/1.1\r\nHost: x\r\n\r\n")))
	c := framedConn{framing: f}
	c.handOver()
	text := "Transfer-Encoding: a\r\nContent-Length: 5\r\n"
	n, err := c.read(make([]byte, 100), strings.NewReader(text).Read)
	require.NoError(t, err)
	require.Len(t, text, n, "what follows an upgrade is no head")
}

// TestFramingIsRefusedWithTLS has sockets, with and without TLS.
func TestFramingIsRefusedWithTLS(t *testing.T) {
	files := newPair(t)
	var seen paths
	upstream := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.add(r.URL.Path) })
	for name, p := range map[string]*proxy{"TLS": run(t, open, upstream, files.config), "plain": run(t, open, upstream)} {
		for kind, text := range contradicting {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
			require.NoError(t, err)
			if name == "TLS" {
				conn = tls.Client(conn, &tls.Config{RootCAs: files.roots(t), ServerName: "127.0.0.1"})
			}
			require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			writeIn(conn, text+"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n", 1<<20)
			answers, err := io.ReadAll(conn)
			if err == nil {
				assert.Equal(t, 1, strings.Count(string(answers), "HTTP/1.1 400 Bad Request\r\n"), "%s %s: %s", name, kind, answers)
			}
			conn.Close()
		}
	}
	assert.Empty(t, seen.all())
}
