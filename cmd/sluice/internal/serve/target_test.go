package serve

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// statusOfFields sends a request of HTTP/2 and returns the status of its answer, or the name
// of the error with which the stream or the connection is reset.
func (b *bubble) statusOfFields(text string) string {
	b.t.Helper()
	conn, err := b.front.Dial(b.t.Context(), "", "")
	require.NoError(b.t, err)
	defer conn.Close()
	go func(conn net.Conn) { _, _ = conn.Write(framesOf([]byte(text))) }(conn)
	framer := http2.NewFramer(io.Discard, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		require.NoError(b.t, err)
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		case *http2.GoAwayFrame:
			return f.ErrCode.String()
		}
	}
}

// TestHostsAndMethodsOfHTTP2 has pseudo-header fields that are no host, no method and no
// target.
func TestHostsAndMethodsOfHTTP2(t *testing.T) {
	for text, want := range map[string]string{
		":method: GET\n:authority: x\n:path: /a":                          "200",
		":method: GET\n:authority: [2001:db8::1]:80\n:path: /a":           "200",
		":method: GET\n:path: /a\nhost: x":                                "200",
		":method: GET\n:authority: x\n:path: /a\nhost: X":                 "200",
		":method: OPTIONS\n:authority: x\n:path: *":                       "200",
		":method: GET\n:authority: x\n:path: /a\nhost: y":                 "400",
		":method: GET\n:path: /a\nhost: x\nhost: y":                       "400",
		":method: GET\n:authority: x\";for=\"1.2.3.4\n:path: /a":          "400",
		":method: GET\n:authority: x<script>\n:path: /a":                  "400",
		":method: GET\n:authority: a b\n:path: /a":                        "400",
		":method: GET\n:authority: a\xffb\n:path: /a":                     "400",
		":method: GET\n:authority: u@x\n:path: /a":                        "PROTOCOL_ERROR",
		":method: GET\n:path: /a":                                         "400",
		":method: GET\n:authority: x\n:path: *":                           "400",
		":method: GET\n:authority: x\n:path: /a b":                        "400",
		":method: GET\n:authority: x\n:path: /a?b c":                      "400",
		":method: GET\n:authority: x\n:path: /?a HTTP/1.1":                "400",
		":method: GET\n:authority: x\n:path: /a#b":                        "400",
		":method: GET\n:authority: x\n:path: http://u/admin":              "200",
		":method: GET\n:authority: x\n:path: x:http://u/admin":            "400",
		":method: GET /admin/x\n:authority: x\n:path: /a":                 "400",
		":method: GET /admin/x HTTP/1.1\n:authority: x\n:path: /a":        "400",
		":method: G@T\n:authority: x\n:path: /a":                          "400",
		":method: CONNECT\n:authority: x:80":                              "501",
		":method: GET\n:authority: x\n:path: /a\ntransfer-encoding: gzip": "400",
	} {
		if !strings.Contains(text, "CONNECT") {
			text = ":scheme: http\n" + text
		}
		t.Run(text, func(t *testing.T) {
			inBubble(t, open, tells, func(b *bubble) {
				assert.Equal(t, want, b.statusOfFields(text))
			})
		})
	}
}

// TestHostsOfForwarded has hosts that would be another element of Forwarded, and what is
// quoted.
func TestHostsOfForwarded(t *testing.T) {
	var hosts, elements []string
	inBubble(t, open, func(_ http.ResponseWriter, r *http.Request) {
		hosts, elements = r.Header["X-Forwarded-Host"], r.Header["Forwarded"]
	}, func(b *bubble) {
		for host, want := range map[string]int{
			"x": 200, "x:80": 200, "[::1]:80": 200, "a,b": 200, "a;b=c": 200, `x";for="1.2.3.4`: 400, "x<script>": 400, "a b": 400,
			"a\\b": 400, "a%22b": 400, "": 400, "a/b": 400,
		} {
			hosts, elements = nil, nil
			c := b.open("GET / HTTP/1.1\r\nHost: " + host + "\r\nForwarded: for=9.9.9.9\r\n\r\n")
			resp, _ := c.answer()
			assert.Equal(t, want, resp.StatusCode, host)
			c.Close()
			if synctest.Wait(); want == 200 {
				assert.Equal(t, []string{host}, hosts)
				assert.Equal(t, []string{`for=unknown;host="` + host + `";proto=http`}, elements)
			} else {
				assert.Empty(t, hosts)
			}
		}
		c := b.open("GET / HTTP/1.0\r\n\r\n")
		resp, _ := c.answer()
		assert.Equal(t, 200, resp.StatusCode, "HTTP/1.0 has no host")
		c.Close()
	})
}

// TestAsterisk has OPTIONS *, which the proxy answers itself and counts.
func TestAsterisk(t *testing.T) {
	var seen paths
	inBubble(t, open, func(_ http.ResponseWriter, r *http.Request) { seen.add(r.URL.Path) }, func(b *bubble) {
		c := b.open("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
		defer c.Close()
		resp, body := c.answer()
		assert.Equal(t, 200, resp.StatusCode)
		assert.Empty(t, body)
		assert.Equal(t, "0", resp.Header.Get("Content-Length"))
		assert.Empty(t, seen.all())
	})
}
