package nethttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// routed is a document with a limit of one request for /admin/**, and settings.
func routed(t testing.TB, http string) *sluice.Set {
	t.Helper()
	return parse(t, `
version: 1
policies:
  admin: {steps: [{limit: {rate: 1/1h}}], fallback: {status: 299}}
  rest: {steps: [{limit: {rate: 1/1h}}]}
http: {`+http+`}
routes:
  - {path: /admin/**, method: GET, policy: admin}
  - {path: /raw/**, policy: admin, http: {paths: exact_bytes}}
`)
}

// paths answers with the path that it was sent.
var paths = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, r.URL.EscapedPath()+" "+r.URL.Path)
})

// A limit cannot be passed by spelling the path, the host or the method in
// another way, and the handler gets what was compared.
func TestSpellingsAreOnePath(t *testing.T) {
	for _, c := range []struct{ method, target, sent string }{
		{"GET", "/%61dmin/x", "/admin/x /admin/x"}, {"GET", "/admin%2Fx", "/admin/x /admin/x"}, {"GET", "//admin/x", "/admin/x /admin/x"},
		{"GET", "/./admin/x", "/admin/x /admin/x"}, {"GET", "/a/%2e%2e/admin/x%20y", "/admin/x%20y /admin/x y"}, {"HEAD", "/admin/x", "/admin/x /admin/x"},
		{"GET", "/admin/%40me", "/admin/%40me /admin/@me"},
	} {
		h := nethttp.NewRoutedHandler(paths, routed(t, ""))
		w := serve(h, httptest.NewRequest(c.method, c.target, nil))
		assert.Equal(t, 200, w.Code, c.target)
		assert.Equal(t, c.sent, w.Body.String(), c.target)
		assert.Equal(t, 299, serve(h, httptest.NewRequest("GET", "/admin/x", nil)).Code, "%s took the permit", c.target)
	}
}

func TestPathsRefused(t *testing.T) {
	for _, c := range []struct {
		http, target string
		status       int
	}{
		{"", "/x%00", 400}, {"", "/x%5Cy", 400}, {"", "/%c0%af", 400}, {"", "/x/..;/admin", 400}, {"", "/admin;a=b/x", 400},
		{"", "/x//y", 200}, {"paths: strict", "/x//y", 400}, {"paths: strict", "/x/y", 200}, {"paths: exact_bytes", "/x//y%00", 200},
		{"", "/raw/%00", 200}, {"default: deny", "/x", 403}, {"default: deny", "/admin/x", 200}, {"default: deny", "/x%00", 400},
	} {
		h := nethttp.NewRoutedHandler(paths, routed(t, c.http))
		w := serve(h, httptest.NewRequest("GET", c.target, nil))
		assert.Equal(t, c.status, w.Code, "%v", c)
		if c.status != 200 {
			reason := map[int]string{400: "path", 403: "route"}[c.status]
			assert.Equal(t, reason, w.Header().Get("X-Throttle-Reason"))
			assert.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			assert.Contains(t, w.Body.String(), `"reason":"`+reason+`"`)
		}
	}
	h := nethttp.NewRoutedHandler(paths, routed(t, "default: deny"),
		nethttp.WithRefusal(func(w http.ResponseWriter, _ *http.Request, err error) { http.Error(w, err.Error(), http.StatusTeapot) }))
	assert.Equal(t, "sluice: request refused (route): No route of this service matches the request.\n", serve(h, httptest.NewRequest("GET", "/", nil)).Body.String())
}

func TestUnmatchedGetsThePolicy(t *testing.T) {
	h := nethttp.NewRoutedHandler(paths, routed(t, "default: rest"))
	assert.Equal(t, 200, serve(h, httptest.NewRequest("POST", "/x", nil)).Code)
	assert.Equal(t, 429, serve(h, httptest.NewRequest("POST", "/y", nil)).Code)
	assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/admin/y", nil)).Code)
	assert.Equal(t, 429, serve(h, httptest.NewRequest("OPTIONS", "*", nil)).Code, "not even a path")
}

// proxyTo is a reverse proxy, and the transport by which it guards.
func proxyTo(t testing.TB, set *sluice.Set) (*nethttp.Transport, http.Handler) {
	t.Helper()
	up := httptest.NewServer(paths)
	t.Cleanup(up.Close)
	target, err := url.Parse(up.URL + "/v1")
	require.NoError(t, err)
	transport := nethttp.NewRoutedTransport(nil, set, nethttp.WithRefusalAnswers())
	return transport, &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: transport}
}

func TestProxySendsWhatWasCompared(t *testing.T) {
	transport, proxy := proxyTo(t, routed(t, ""))
	h := transport.Proxy(proxy)
	w := serve(h, httptest.NewRequest("GET", "/x/../%61dmin//x%2Fy%3F", nil))
	assert.Equal(t, "/v1/admin/x/y%3F /v1/admin/x/y?", w.Body.String())
	assert.Equal(t, 299, serve(h, httptest.NewRequest("HEAD", "//admin", nil)).Code)
	another, _ := proxyTo(t, routed(t, ""))
	_, proxy = proxyTo(t, routed(t, ""))
	assert.Equal(t, "/v1/raw/a%2Fb//c /v1/raw/a/b//c", serve(another.Proxy(proxy), httptest.NewRequest("GET", "/raw/a%2Fb//c", nil)).Body.String(), "another transport")
	w = serve(h, httptest.NewRequest("GET", "/x%00", nil))
	assert.Equal(t, 400, w.Code)
	assert.Contains(t, w.Body.String(), `"reason":"path"`)
}

// Without Transport.Proxy a proxy cannot send what was compared.
func TestInboundThatIsNotClean(t *testing.T) {
	set := routed(t, "")
	_, proxy := proxyTo(t, set)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(nethttp.WithInbound(r.Context(), r)))
	})
	assert.Equal(t, 400, serve(h, httptest.NewRequest("GET", "//admin/x", nil)).Code)
	assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/admin/x", nil)).Code)
	assert.Equal(t, 299, serve(h, httptest.NewRequest("GET", "/admin/x", nil)).Code)
}

// A program spells its own paths, which are sent as they are.
func TestTransportSendsWhatItGets(t *testing.T) {
	next := answers(status(200), status(200), status(200))
	tr := nethttp.NewRoutedTransport(next, routed(t, "default: rest"))
	resp, err := tr.RoundTrip(get(t, "http://h/admin%2Fx//y"))
	require.NoError(t, err)
	text(t, resp)
	assert.Equal(t, "/admin%2Fx//y", next.seen[0].URL.EscapedPath())
	resp, err = tr.RoundTrip(get(t, "http://h/admin"))
	require.NoError(t, err)
	assert.Equal(t, 299, resp.StatusCode)
	resp, err = tr.RoundTrip(get(t, "http://h"))
	require.NoError(t, err, "an empty path is /")
	text(t, resp)
	body := &closed{Reader: strings.NewReader("x")}
	_, err = nethttp.NewRoutedTransport(next, routed(t, "default: deny")).RoundTrip(request(t, "POST", "http://h/x", body))
	var refused *nethttp.RequestError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 403, refused.Status)
	assert.True(t, body.closed)
}

// closed remembers that it was closed.
type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

// A key that the upstream may read in another way is refused, of a request that
// came in.
func TestKeysSentTwice(t *testing.T) {
	for _, c := range []struct {
		per, target string
		header      http.Header
		status      int
	}{
		{"header:x-tenant", "/", http.Header{"X-Tenant": {"a", "b"}}, 400},
		{"header:x-tenant", "/", http.Header{"X-Tenant": {"a", ""}}, 400},
		{"header:x-tenant", "/", http.Header{"X-Tenant": {"a", "a"}}, 200},
		{"header:x-tenant", "/", http.Header{"X-Tenant": {"a"}, "X_tenant": {"a"}}, 400},
		{"header:x-tenant", "/", http.Header{"X-Other": {"a", "b"}, "X_other": {"c"}}, 200},
		{"cookie:sid", "/", http.Header{"Cookie": {"sid=1; sid=2"}}, 400},
		{"cookie:sid", "/", http.Header{"Cookie": {"sid=1", "sid=2"}}, 400},
		{"cookie:sid", "/", http.Header{"Cookie": {"sid=1; other=2"}}, 200},
		{"[ip, \"query:user\"]", "/?user=1&user=2", nil, 400},
		{"query:user", "/?user=1;user=2", nil, 400},
		{"query:user", "/?user=1&x=2&x=3", nil, 200},
	} {
		p := policyOf(t, "steps:", "  - limit: {rate: 1/1h, per: "+c.per+"}", "fallback: {status: 299}")
		r := httptest.NewRequest("GET", c.target, nil)
		for name, values := range c.header {
			r.Header[name] = values
		}
		w := serve(nethttp.NewHandler(says(200, ""), p), r)
		assert.Equal(t, c.status, w.Code, "%v", c)
		if c.status == 400 {
			assert.Contains(t, w.Body.String(), `"reason":"key"`)
		}
		tr := nethttp.NewTransport(answers(status(200)), p, nethttp.WithRefusalAnswers())
		resp, err := tr.RoundTrip(get(t, "http://h/").WithContext(nethttp.WithInbound(t.Context(), r)))
		require.NoError(t, err)
		text(t, resp)
		if c.status == 400 {
			assert.Equal(t, 400, resp.StatusCode, "%v", c)
		}
	}
}

// TestEqualLinesAreOneValue sends the value of a key in several equal lines: a client gets no
// further cell for that.
func TestEqualLinesAreOneValue(t *testing.T) {
	h := nethttp.NewHandler(says(200, ""), policyOf(t, "steps:", "  - limit: {rate: 1/1h, per: header:x-tenant}"))
	for i, want := range []int{200, 429, 429} {
		r := httptest.NewRequest("GET", "/", nil)
		for range i + 1 {
			r.Header.Add("X-Tenant", "a")
		}
		assert.Equal(t, want, serve(h, r).Code, "%d lines", i+1)
	}
}

// TestRoutesWithoutPolicy has requests that a route leaves out, before one that would guard
// them.
func TestRoutesWithoutPolicy(t *testing.T) {
	set := parse(t, `
version: 1
policies:
  pass: {steps: [{limit: 1/1h}]}
  one: {steps: [{limit: 1/1h}]}
http: {default: deny}
routes:
  - {path: /health/**, policy: pass}
  - {path: /**, method: OPTIONS, policy: pass}
  - {path: /**, policy: one}
`)
	transport, proxy := proxyTo(t, set)
	for name, h := range map[string]http.Handler{"handler": nethttp.NewRoutedHandler(paths, set), "proxy": transport.Proxy(proxy)} {
		for range 3 {
			assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/x/../health/live", nil)).Code, name)
			assert.Equal(t, 200, serve(h, httptest.NewRequest("OPTIONS", "/a", nil)).Code, name)
		}
	}
	h := nethttp.NewRoutedHandler(paths, set)
	assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/a", nil)).Code)
	assert.Equal(t, 429, serve(h, httptest.NewRequest("GET", "/a", nil)).Code)
}

// TestMissing has a request without each of the attributes.
func TestMissing(t *testing.T) {
	for _, per := range []string{"key", "ip", "header:x-tenant", "cookie:sid", "query:user", "host", "route", "[method, \"header:x-tenant\"]"} {
		for missing, want := range map[string][2]int{"share": {200, 202}, "deny": {400, 400}, "deny-401": {401, 401}, "deny-403": {403, 403}, "skip": {200, 200}} {
			h := nethttp.NewHandler(says(200, ""), policyOf(t, "fallback: {status: 202}", "steps:", "  - limit: {rate: 1000/1h, name: other}", "  - limit: {rate: 1/1h, per: "+per+", missing: "+missing+"}"))
			for _, status := range want {
				r := httptest.NewRequest("GET", "/", nil)
				r.RemoteAddr, r.Host = "", ""
				w := serve(h, r)
				assert.Equal(t, status, w.Code, "%s %s", per, missing)
				if strings.HasPrefix(missing, "deny") {
					assert.Equal(t, "missing", w.Header().Get("X-Throttle-Reason"))
					assert.Empty(t, w.Header().Get("Retry-After"))
				}
			}
		}
	}
}

// The attribute path is one for all spellings, with routes and without.
func TestPathIsOneKey(t *testing.T) {
	const limit = "{limit: {rate: 1/1h, per: path}}"
	set := parse(t, "version: 1\npolicies: {p: {steps: ["+limit+"]}}\nroutes: [{path: /x/**, policy: p, http: {paths: exact_bytes}}, {path: /**, policy: p}]")
	one := nethttp.NewHandler(says(200, ""), policyOf(t, "steps: ["+limit+"]"))
	for _, h := range []http.Handler{one, nethttp.NewRoutedHandler(says(200, ""), set)} {
		assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/a/@b", nil)).Code)
		for _, path := range []string{"/%61/@b", "//a/@b", "/a/%40b"} {
			assert.Equal(t, 429, serve(h, httptest.NewRequest("GET", path, nil)).Code, path)
		}
		assert.Equal(t, 200, serve(h, httptest.NewRequest("GET", "/x/a", nil)).Code)
	}
	assert.Equal(t, 429, serve(one, httptest.NewRequest("GET", "/x//a", nil)).Code)
	assert.Equal(t, 200, serve(nethttp.NewRoutedHandler(says(200, ""), set), httptest.NewRequest("GET", "/x//a", nil)).Code)
}

// TestMissingOfGRPC has calls of gRPC without the attribute, and a document that changes the
// status alone.
func TestMissingOfGRPC(t *testing.T) {
	document := func(missing string) string {
		return "version: 1\npolicies: {p: {steps: [{limit: {rate: 1/1h, per: 'header:x-key', missing: " + missing + "}}]}}\nroutes: [{path: /**, policy: p}]"
	}
	set := parse(t, document("deny"))
	h := nethttp.NewRoutedHandler(says(200, ""), set)
	for _, c := range []struct {
		missing      string
		status, code int
	}{{"deny", 400, 3}, {"deny-401", 401, 16}, {"deny-403", 403, 7}, {"deny", 400, 3}} {
		require.NoError(t, set.Reload("policy.yaml", []byte(document(c.missing))))
		assert.Equal(t, c.status, serve(h, httptest.NewRequest("GET", "/", nil)).Code, c.missing)
		r := httptest.NewRequest("POST", "/a.B/C", nil)
		r.Header.Set("Content-Type", "application/grpc")
		w := serve(h, r)
		assert.Equal(t, strconv.Itoa(c.code), w.Header().Get("Grpc-Status"), c.missing)
		assert.Empty(t, w.Header().Get("Grpc-Retry-Pushback-Ms"))
	}
}

// TestMissingIsNotRepeated has a policy inside the attempts of another refuse a request that
// lacks its key.
func TestMissingIsNotRepeated(t *testing.T) {
	next := answers(status(200))
	inner := nethttp.NewTransport(next, policyOf(t, "steps:", "  - limit: {rate: 1/1h, per: 'header:x-key', missing: deny}"))
	outer := nethttp.NewTransport(inner, policyOf(t, "steps:", "  - retry: {attempts: 5, backoff: none}"))
	_, err := outer.RoundTrip(get(t, target))
	var gaveUp *sluice.RetryError
	require.ErrorAs(t, err, &gaveUp)
	assert.Equal(t, sluice.ReasonPushback, gaveUp.Reason)
	assert.Equal(t, 1, gaveUp.Attempts)
	assert.Empty(t, next.seen)
}
