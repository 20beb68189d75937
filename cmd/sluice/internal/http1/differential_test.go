//go:build unix

package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outcome is what a caller sees of an answer.
type outcome struct {
	failed           bool
	status           string
	proto            string
	header, trailer  http.Header
	length           int64
	coding           []string
	close            bool
	body             string
	broken           bool // the body
	brokenOff        bool // with io.ErrUnexpectedEOF
	interim          []int
	connections      int // for two requests
	secondIsTheSame  bool
	uncompressedBody bool
}

// told is a context with an Interim.
type told struct {
	context.Context
	interim Interim
}

func (c told) Value(key any) any {
	if _, ok := key.(InterimKey); ok {
		return c.interim
	}
	return c.Context.Value(key)
}

// exchange has two requests answered by a server that says the same both times, and
// returns the outcome of the first.
func exchange(t *testing.T, method, answer string, open bool, own bool) outcome {
	t.Helper()
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, answer) && open })
	rest := standard()
	rest.MaxResponseHeaderBytes = 2000
	t.Cleanup(rest.CloseIdleConnections)
	to := s.url()
	if !own {
		to.Scheme = "https" // so that rest takes all requests
	}
	transport := New(rest, to)
	defer transport.CloseIdleConnections()
	one := func() (o outcome) {
		ctx := told{t.Context(), func(status int, _ textproto.MIMEHeader) error {
			o.interim = append(o.interim, status)
			return nil
		}}
		req := s.request(ctx, method, "/x")
		if !own {
			_, taken := transport.head(nil, req)
			require.False(t, taken)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			o.failed = true
			return o
		}
		body, err := io.ReadAll(resp.Body)
		o.broken, o.brokenOff = err != nil, errors.Is(err, io.ErrUnexpectedEOF)
		require.NoError(t, resp.Body.Close())
		o.status, o.proto, o.header, o.trailer, o.length = resp.Status, resp.Proto, resp.Header, resp.Trailer, resp.ContentLength
		o.coding, o.close, o.body, o.uncompressedBody = resp.TransferEncoding, resp.Close, string(body), resp.Uncompressed
		return o
	}
	first := one()
	second := one()
	first.secondIsTheSame = assert.ObjectsAreEqual(first, second)
	first.connections = s.connections()
	return first
}

// TestAsNetHTTP has answers, well-formed and not, read by net/http and by this package.
func TestAsNetHTTP(t *testing.T) {
	long := strings.Repeat("a", 3000)
	for name, c := range map[string]struct {
		answer string
		method string // GET by default
		open   bool   // the server keeps the connection
		racing bool   // net/http decides on another goroutine whether it uses the connection again
	}{
		"length":                        {answer: hello, open: true},
		"length and the end":            {answer: hello},
		"no body":                       {answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", open: true},
		"no phrase":                     {answer: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"},
		"bare line feeds":               {answer: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", open: true},
		"headers":                       {answer: "HTTP/1.1 404 Not Found\r\nset-cookie: a\r\nSet-Cookie: b\r\nX: \r\nContent-Length: 2\r\n\r\nno", open: true},
		"until the end":                 {answer: "HTTP/1.1 200 OK\r\n\r\nhello"},
		"close":                         {answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", open: true},
		"HTTP/1.0":                      {answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", open: true},
		"HTTP/1.0 that stays":           {answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", open: true},
		"HTTP/1.0 until the end":        {answer: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nok"},
		"HTTP/1.0 with chunks":          {answer: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"204":                           {answer: "HTTP/1.1 204 No Content\r\n\r\n", open: true},
		"204 with a length":             {answer: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", open: true},
		"304":                           {answer: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nEtag: \"a\"\r\n\r\n", open: true},
		"304 with chunks":               {answer: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", open: true},
		"HEAD":                          {method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", open: true},
		"HEAD with chunks":              {method: "HEAD", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", open: true},
		"HEAD without a length":         {method: "HEAD", answer: "HTTP/1.1 200 OK\r\n\r\n", open: true},
		"HEAD and the end":              {method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"},
		"POST":                          {method: "POST", answer: hello, open: true},
		"chunks":                        {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\n\r\n", open: true},
		"trailers":                      {answer: "HTTP/1.1 200 OK\r\nTrailer: A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nA: 1\r\nB: 2\r\n\r\n", open: true},
		"forbidden trailers":            {answer: "HTTP/1.1 200 OK\r\nTrailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
		"chunks that break off":         {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"},
		"chunks without an end":         {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"},
		"a chunk of no number":          {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n", open: true},
		"a chunk that is too large":     {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nok\r\n0\r\n\r\n", open: true},
		"a chunk that is longer":        {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", open: true},
		"chunks and a length":           {answer: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", open: true},
		"two lengths":                   {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk"},
		"a length twice":                {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", open: true},
		"a list of lengths":             {answer: "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok"},
		"a negative length":             {answer: "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"},
		"a signed length":               {answer: "HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"},
		"an empty length":               {answer: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok"},
		"an unknown coding":             {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok"},
		"two codings":                   {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		"identity":                      {answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok"},
		"a body that breaks off":        {answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"},
		"more than the length":          {answer: hello + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", open: true, racing: true},
		"gzip":                          {answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", open: true},
		"100 and 103":                   {answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + hello, open: true},
		"103 alone":                     {answer: "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"},
		"many 103":                      {answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+long[:100]+"\r\n\r\n", 40) + hello, open: true},
		"101 that was not asked for":    {answer: "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", racing: true},
		"nothing":                       {answer: ""},
		"no HTTP":                       {answer: "SSH-2.0-OpenSSH_9\r\n\r\n"},
		"a status line that breaks off": {answer: "HTTP/1.1 2"},
		"headers that break off":        {answer: "HTTP/1.1 200 OK\r\nA: b\r\n"},
		"no status":                     {answer: "HTTP/1.1\r\n\r\n"},
		"a short status":                {answer: "HTTP/1.1 20 OK\r\n\r\n"},
		"a status of letters":           {answer: "HTTP/1.1 abc OK\r\n\r\n"},
		"status 099":                    {answer: "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok", open: true},
		"status 999":                    {answer: "HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok", open: true},
		"HTTP/2.0":                      {answer: "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok", open: true},
		"HTTP/1.x":                      {answer: "HTTP/1.x 200 OK\r\nContent-Length: 2\r\n\r\nok"},
		"a header without a colon":      {answer: "HTTP/1.1 200 OK\r\nA\r\nContent-Length: 2\r\n\r\nok"},
		"a space before the colon":      {answer: "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok"},
		"a header on two lines":         {answer: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok", open: true},
		"a header that begins so":       {answer: "HTTP/1.1 200 OK\r\n A: b\r\nContent-Length: 2\r\n\r\nok"},
		"a NUL in a header":             {answer: "HTTP/1.1 200 OK\r\nA: b\x00c\r\nContent-Length: 2\r\n\r\nok"},
		"a header without a name":       {answer: "HTTP/1.1 200 OK\r\n: b\r\nContent-Length: 2\r\n\r\nok"},
		"headers that are too long":     {answer: "HTTP/1.1 200 OK\r\nA: " + long + "\r\nContent-Length: 2\r\n\r\nok"},
		"a body longer than headers":    {answer: "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + long, open: true},
		"Pragma":                        {answer: "HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 2\r\n\r\nok", open: true},
	} {
		t.Run(name, func(t *testing.T) {
			method := c.method
			if method == "" {
				method = http.MethodGet
			}
			want, got := exchange(t, method, c.answer, c.open, false), exchange(t, method, c.answer, c.open, true)
			if c.racing {
				assert.Equal(t, 2, got.connections)
				want.connections, want.secondIsTheSame = got.connections, got.secondIsTheSame
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestSendsAsNetHTTP compares what servers get of requests.
func TestSendsAsNetHTTP(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"plain":               func(*http.Request) {},
		"headers":             func(r *http.Request) { r.Header = http.Header{"A": {"1", " 2\t"}, "B": {""}, "C": nil} },
		"no agent":            func(r *http.Request) { r.Header["User-Agent"] = []string{""} },
		"no line of an agent": func(r *http.Request) { r.Header["User-Agent"] = nil },
		"agents":              func(r *http.Request) { r.Header["User-Agent"] = []string{" one ", "two"} },
		"excluded":            func(r *http.Request) { r.Header = http.Header{"Host": {"b"}, "Content-Length": {"5"}} },
		"a host":              func(r *http.Request) { r.Host = "a.test:81" },
		"an address":          func(r *http.Request) { r.Host = "[::1]:81" },
		"POST":                func(r *http.Request) { r.Method = "POST" },
		"PUT":                 func(r *http.Request) { r.Method = "PUT" },
		"PATCH":               func(r *http.Request) { r.Method = "PATCH" },
		"DELETE":              func(r *http.Request) { r.Method = "DELETE" },
		"OPTIONS":             func(r *http.Request) { r.Method = "OPTIONS"; r.URL.Path = "*" },
		"a method of ours":    func(r *http.Request) { r.Method = "X-y!" },
		"no path":             func(r *http.Request) { r.URL.Path = "" },
		"an escaped path":     func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/a/b c", "/a%2Fb%20c" },
		"a path with escapes": func(r *http.Request) { r.URL.Path = "/ä \x01?\r\n" },
		"two slashes":         func(r *http.Request) { r.URL.Path = "//a.test/b" },
		"a query":             func(r *http.Request) { r.URL.RawQuery = "a=%&b=;c&&" },
		"an empty query":      func(r *http.Request) { r.URL.ForceQuery = true },
		"no body":             func(r *http.Request) { r.Body = http.NoBody },
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
			rest := standard()
			defer rest.CloseIdleConnections()
			own := s.transport()
			for _, transport := range []http.RoundTripper{rest, own} {
				req := s.request(t.Context(), http.MethodGet, "/x")
				change(req)
				_, taken := own.head(nil, req)
				require.True(t, taken)
				resp, err := transport.RoundTrip(req)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, resp.Body)
				require.NoError(t, err)
			}
			require.Len(t, s.heads, 2)
			want, got := strings.Split(s.heads[0], "\r\n"), strings.Split(s.heads[1], "\r\n")
			assert.Equal(t, want[:2], got[:2], "the request line and Host")
			slices.Sort(want)
			slices.Sort(got)
			assert.Equal(t, want, got)
		})
	}
}

// TestRest lists requests that the other transport takes, or refuses.
func TestRest(t *testing.T) {
	s := newServer(t, func(conn net.Conn, _, _ int, _ string) bool { return says(conn, hello) })
	transport := s.transport()
	for name, change := range map[string]func(*http.Request){
		"a body":                  func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("a")) },
		"a length":                func(r *http.Request) { r.ContentLength = 5 },
		"chunks":                  func(r *http.Request) { r.TransferEncoding = []string{"chunked"} },
		"trailers":                func(r *http.Request) { r.Trailer = http.Header{"A": nil} },
		"close":                   func(r *http.Request) { r.Close = true },
		"TLS":                     func(r *http.Request) { r.URL.Scheme = "https" },
		"another server":          func(r *http.Request) { r.URL.Host = "b.test" },
		"CONNECT":                 func(r *http.Request) { r.Method = "CONNECT" },
		"no method":               func(r *http.Request) { r.Method = "" },
		"a method with a space":   func(r *http.Request) { r.Method = "GET /" },
		"a method with a line":    func(r *http.Request) { r.Method = "GET\r\n" },
		"opaque":                  func(r *http.Request) { r.URL.Opaque = "a b" },
		"no headers":              func(r *http.Request) { r.Header = nil },
		"an upgrade":              func(r *http.Request) { r.Header.Set("Upgrade", "websocket") },
		"a connection":            func(r *http.Request) { r.Header.Set("Connection", "close") },
		"an expectation":          func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
		"a coding":                func(r *http.Request) { r.Header.Set("Transfer-Encoding", "chunked") },
		"a line in a value":       func(r *http.Request) { r.Header["A"] = []string{"b\r\nc: d"} },
		"a line in an agent":      func(r *http.Request) { r.Header["User-Agent"] = []string{"b\r\nc: d"} },
		"a NUL in a value":        func(r *http.Request) { r.Header["A"] = []string{"b\x00"} },
		"a line in a name":        func(r *http.Request) { r.Header["A\r\nB"] = []string{"b"} },
		"a space in a name":       func(r *http.Request) { r.Header["A "] = []string{"b"} },
		"a line in a host":        func(r *http.Request) { r.Host = "a\r\nb: c" },
		"a slash in a host":       func(r *http.Request) { r.Host = "a/b" },
		"a zone":                  func(r *http.Request) { r.Host = "[fe80::1%25en0]" },
		"a host of other letters": func(r *http.Request) { r.Host = "bücher.test" },
		"a line in a query":       func(r *http.Request) { r.URL.RawQuery = "a HTTP/1.1\r\nb: c" },
		"a space in a query":      func(r *http.Request) { r.URL.RawQuery = "a b" },
	} {
		t.Run(name, func(t *testing.T) {
			req := s.request(t.Context(), http.MethodGet, "/x")
			change(req)
			_, taken := transport.head(nil, req)
			assert.False(t, taken)
		})
	}
	for name, to := range map[string]string{"TLS": "https://a.test", "no host": "http://:80", "a zone": "http://[fe80::1%25en0]:80"} {
		t.Run("a server with "+name, func(t *testing.T) {
			at, err := s.url().Parse(to)
			require.NoError(t, err)
			assert.Empty(t, New(standard(), at).host)
		})
	}
	resp, err := transport.RoundTrip(s.request(t.Context(), http.MethodGet, "/x", "Connection", "close"))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Contains(t, s.heads[0], "Connection: close\r\n")
}

// TestAddress has the port of a URL, or of its scheme.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{"http://a.test": "a.test:80", "http://a.test:81": "a.test:81", "http://[::1]": "[::1]:80"} {
		at, err := url.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, New(standard(), at).address)
	}
}
