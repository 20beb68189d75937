package serve

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/pires/go-proxyproto"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw sends bytes on a new connection and returns the status and the body of the
// answer, 0 for none.
func (p *proxy) raw(t *testing.T, bytes string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte(bytes))
	require.NoError(t, err)
	method, _, _ := strings.Cut(bytes, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text := new(strings.Builder)
	_, err = bufio.NewReader(resp.Body).WriteTo(text)
	require.NoError(t, err)
	return resp.StatusCode, text.String()
}

var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.RequestURI, " ", r.Header.Get("X-Forwarded-For"))
})

const oneAdmin = `
version: 1
policies:
  admin: {steps: [{limit: {rate: 1/1h, per: ip}}]}
http: {default: deny}
routes:
  - {path: /admin/**, method: GET, host: api.test, policy: admin}
`

// TestServeSpellings has the bypasses of a limit by another spelling, each in
// front of a fresh server, which then refuses the plain form.
func TestServeSpellings(t *testing.T) {
	for _, c := range []struct{ line, host, sent string }{
		{"GET /%61dmin/x?q=100%&page=2", "api.test", "/admin/x?q=100%&page=2"},
		{"GET /admin%2Fx", "api.test", "/admin/x"},
		{"GET //admin/x", "API.test", "/admin/x"},
		{"GET /./admin/x", "api.test.", "/admin/x"},
		{"GET /a/%2e%2e/admin/x", "api.test:80", "/admin/x"},
		{"HEAD /admin/x", "api.test", ""},
	} {
		p := run(t, oneAdmin, echo)
		status, body := p.raw(t, c.line+" HTTP/1.1\r\nHost: "+c.host+"\r\nConnection: close\r\n\r\n")
		assert.Equal(t, 200, status, c.line)
		sent, _, _ := strings.Cut(body, " ")
		assert.Equal(t, strings.Split(c.sent, "?")[0], strings.Split(sent, "?")[0], c.line)
		status, _ = p.raw(t, "GET /admin/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
		assert.Equal(t, 429, status, "%s took the permit", c.line)
	}
	p := run(t, oneAdmin, echo)
	for line, want := range map[string]int{"GET /other": 403, "POST /admin/x": 403, `GET /..\admin`: 400, "GET /x%00": 400,
		"GET /%C0%AF": 400, "GET /a/..;/admin": 400} {
		status, body := p.raw(t, line+" HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
		assert.Equal(t, want, status, line)
		assert.Contains(t, body, fmt.Sprintf(`"status":%d`, want))
	}
}

// header is one of the PROXY protocol, from a client's address.
func header(t *testing.T, version byte, client string) string {
	t.Helper()
	from, err := net.ResolveTCPAddr("tcp", client)
	require.NoError(t, err)
	h := proxyproto.HeaderProxyFromAddrs(version, from, from)
	text, err := h.Format()
	require.NoError(t, err)
	return string(text)
}

func TestProxyProtocol(t *testing.T) {
	p := run(t, oneAdmin, echo, func(c *Config) { c.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	const request = "GET /admin/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		version byte
		client  string
		status  int
	}{
		{1, "203.0.113.1:99", 200}, {2, "203.0.113.1:98", 429}, {2, "203.0.113.2:99", 200}, {1, "[2001:db8::1]:1", 200},
		{1, "[2001:db8::ffff]:1", 429}, {2, "[2001:db8:0:1::1]:1", 200},
	} {
		status, body := p.raw(t, header(t, c.version, c.client)+request)
		assert.Equal(t, c.status, status, "%v", c)
		if status == 200 {
			from, _, err := net.SplitHostPort(c.client)
			require.NoError(t, err)
			assert.Equal(t, "/admin/x "+from, body)
		}
	}
	status, _ := p.raw(t, request)
	assert.Equal(t, 0, status, "a connection without the header is closed")

	// A peer that is not listed cannot name another address.
	p = run(t, oneAdmin, echo, func(c *Config) { c.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} })
	status, _ = p.raw(t, header(t, 1, "203.0.113.1:99")+request)
	assert.Equal(t, 400, status)
	_, body := p.raw(t, request)
	assert.Equal(t, "/admin/x 127.0.0.1", body)
}

func TestIPv6Prefix(t *testing.T) {
	p := run(t, oneAdmin, echo, func(c *Config) {
		c.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.IPv6Prefix = 128
	})
	for _, client := range []string{"[2001:db8::1]:1", "[2001:db8::2]:1"} {
		status, _ := p.raw(t, header(t, 2, client)+"GET /admin/x HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
		assert.Equal(t, 200, status)
	}
}
