package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const open = "version: 1\npolicies: {api: {steps: [limit: 1/1h]}}\nroutes: [{path: /api/**, policy: api}]\n"

// tells answers with the request as the upstream has it.
func tells(w http.ResponseWriter, r *http.Request) {
	dump, _ := httputil.DumpRequest(r, false)
	w.Header().Set("Content-Length", fmt.Sprint(len(dump)))
	_, _ = w.Write(dump)
}

func TestQueriesAreSentAsTheyCame(t *testing.T) {
	inBubble(t, open, tells, func(b *bubble) {
		for _, target := range []string{
			"/x?q=100%&page=2", "/x?a=1;b=2", "/x?b=2&a=1&&c", "/x?%zz", "/x?", "/x", "/x?a=b?c=/d", "/a%20c?%41=+",
		} {
			_, sent := b.get(target)
			assert.Equal(t, "GET "+target+" HTTP/1.1", strings.SplitN(sent, "\r\n", 2)[0])
		}
	})
}

func TestRequestsThatAProxyMustNotSendOn(t *testing.T) {
	inBubble(t, open, tells, func(b *bubble) {
		for text, status := range map[string]int{
			"CONNECT upstream.test:80 HTTP/1.1\r\nHost: upstream.test:80\r\n\r\n": 501,
			"CONNECT /api/x HTTP/1.1\r\nHost: x\r\n\r\n":                          501,
			"PRI /api/x HTTP/1.1\r\nHost: x\r\n\r\n":                              501,
			"PRI * HTTP/2.0\r\n\r\n":                                              505,
			"GET / HTTP/2.0\r\nHost: x\r\n\r\n":                                   505,
		} {
			c := b.open(text)
			resp, body := c.answer()
			assert.Equal(t, status, resp.StatusCode, text)
			assert.NotContains(t, body, "upstream.test")
			assert.True(t, resp.Close)
			c.Close()
		}
	})
}

// TestUpgradesOfTheList has clients ask for upgrades, of which the upstream is to see
// the addresses of the list alone.
func TestUpgradesOfTheList(t *testing.T) {
	for name, c := range map[string]struct {
		lines    string
		list     []string
		upgrades string // that the upstream sees
	}{
		"websocket":          {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", []string{"websocket"}, "websocket"},
		"in capitals":        {"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n", []string{"websocket"}, "WebSocket"},
		"no list":            {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", nil, ""},
		"h2c":                {"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", []string{"websocket"}, ""},
		"h2c behind another": {"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket, h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", []string{"websocket"}, ""},
		"in two lines":       {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n", []string{"websocket"}, ""},
		"without connection": {"GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", []string{"websocket"}, ""},
		"with a body":        {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n", []string{"websocket"}, ""},
		"another method":     {"POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n", []string{"websocket"}, ""},
		"another protocol":   {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n", []string{"websocket", "echo"}, "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
				assert.Empty(t, r.Header.Get("HTTP2-Settings"))
				w.Header().Set("X-Upgrade", r.Header.Get("Upgrade"))
				w.Header().Set("X-Connection", r.Header.Get("Connection"))
			}, func(b *bubble) {
				conn := b.open(c.lines + "Host: x\r\n\r\n.")
				defer conn.Close()
				resp, _ := conn.answer()
				assert.Equal(t, 200, resp.StatusCode)
				assert.Equal(t, c.upgrades, resp.Header.Get("X-Upgrade"))
				assert.Equal(t, c.upgrades != "", resp.Header.Get("X-Connection") == "Upgrade")
			}, func(config *Config) { config.Upgrades = c.list })
		})
	}
}

// TestUnaskedUpgrade has an upstream switch protocols although it was not asked to.
func TestUnaskedUpgrade(t *testing.T) {
	inBubble(t, open, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		_ = rw.Flush()
	}, func(b *bubble) {
		c := b.open("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
		defer c.Close()
		resp, _ := c.answer()
		assert.Equal(t, 502, resp.StatusCode)
	})
}

func TestWhatTheUpstreamLearnsOfHops(t *testing.T) {
	for name, c := range map[string]struct {
		peer string
		in   http.Header
		want http.Header
	}{
		"nothing said": {
			"203.0.113.9:80", http.Header{},
			http.Header{"X-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Host": {"api.test"}, "X-Forwarded-Proto": {"http"}},
		},
		"a stranger": {
			"203.0.113.9:80",
			http.Header{
				"X-Forwarded-For": {"6.6.6.6"}, "X-Forwarded-Host": {"evil.test"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"for=6.6.6.6"},
				"X-Real-Ip": {"6.6.6.6"}, "X-Forwarded-Port": {"443"}, "X-Forwarded-Prefix": {"/admin"}, "X_forwarded_for": {"6.6.6.6"}, "X-Real_ip": {"6.6.6.6"},
				"Client-Cert": {":aW52ZW50ZWQ=:"}, "Client_cert-Chain": {":aW52ZW50ZWQ=:"},
				"X-Forward": {"kept"}, "X-Tenant": {"kept"},
			},
			http.Header{
				"X-Forwarded-For": {"203.0.113.9"}, "X-Forwarded-Host": {"api.test"}, "X-Forwarded-Proto": {"http"},
				"Forwarded": {`for=203.0.113.9;host="api.test";proto=http`}, "X-Forward": {"kept"}, "X-Tenant": {"kept"},
			},
		},
		"a trusted hop": {
			"10.0.0.1:80",
			http.Header{
				"X-Forwarded-For": {"198.51.100.1", "10.0.0.2"}, "X-Forwarded-Host": {"shop.test"}, "X-Forwarded-Proto": {"https"},
				"Forwarded": {"for=198.51.100.1;proto=https"}, "X-Real-Ip": {"198.51.100.1"}, "X-Forwarded-Port": {"443"},
				"Client-Cert": {":b2YgYSBob3A=:"},
			},
			http.Header{
				"X-Forwarded-For": {"198.51.100.1, 10.0.0.2, 10.0.0.1"}, "X-Forwarded-Host": {"shop.test"}, "X-Forwarded-Proto": {"https"},
				"Forwarded": {"for=198.51.100.1;proto=https", `for=10.0.0.1;host="api.test";proto=http`}, "X-Real-Ip": {"198.51.100.1"}, "X-Forwarded-Port": {"443"},
				"Client-Cert": {":b2YgYSBob3A=:"},
			},
		},
		"a trusted hop that says nothing": {
			"[2001:db8::1]:80", http.Header{"Forwarded": {"for=_hidden"}},
			http.Header{
				"X-Forwarded-For": {"2001:db8::1"}, "X-Forwarded-Host": {"api.test"}, "X-Forwarded-Proto": {"http"},
				"Forwarded": {"for=_hidden", `for="[2001:db8::1]";host="api.test";proto=http`},
			},
		},
		"a hop that marks them as its own": {
			"10.0.0.1:80", http.Header{"X-Forwarded-Proto": {"https"}, "Connection": {"X-Forwarded-Proto, X-Own"}, "X-Own": {"dropped"}},
			http.Header{"X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Host": {"api.test"}, "X-Forwarded-Proto": {"https"}},
		},
		"no address": {
			"@", http.Header{"X-Forwarded-For": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"}},
			http.Header{"X-Forwarded-Host": {"api.test"}, "X-Forwarded-Proto": {"http"}, "Forwarded": {`for=unknown;host="api.test";proto=http`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			s := &Server{name: "sluice-test", upstreams: []*upstream{{url: &url.URL{Scheme: "http", Host: "upstream.test"}}}, config: Config{
				Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")},
			}}
			proxy := &httputil.ReverseProxy{Rewrite: s.rewrite, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				got = r.Header.Clone()
				return nil, http.ErrAbortHandler
			}), ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
			r := httptest.NewRequest("GET", "http://api.test/", nil)
			r.RemoteAddr, r.Header = c.peer, c.in
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			assert.Equal(t, []string{"1.1 sluice-test"}, got["Via"])
			got.Del("Via")
			got.Del("User-Agent")
			assert.Equal(t, c.want, got)
		})
	}
}

// roundTripper is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestProxyOfItself has an upstream that leads back to the proxy, also by way of
// another one.
func TestProxyOfItself(t *testing.T) {
	inBubble(t, open, tells, func(b *bubble) {
		b.connect = b.front.Dial
		resp, body := b.get("/x", "Via: 1.0 fred, 1.1 p.example.net (Apache/1.1)")
		assert.Equal(t, 508, resp.StatusCode)
		assert.Contains(t, body, `"status":508`)
		b.journal.await(b.t, "came back")
		resp, _ = b.get("/x", "Via: 1.1 "+b.name+", 1.1 other")
		assert.Equal(t, 508, resp.StatusCode)
		require.EqualValues(t, 0, b.meter.inFlight.Load())
	})
}
