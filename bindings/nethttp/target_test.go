package nethttp_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/internal/pipes"
)

const openRoutes = `
version: 1
policies:
  admin: {steps: [{limit: {rate: 1/1h, per: [host, path]}}]}
  rest: {steps: [{limit: {rate: 1000/1s}}]}
routes:
  - {path: /admin/**, policy: admin}
  - {path: /**, policy: rest}
`

// firstLines are targets of requests, with the status of a handler that is guarded.
var firstLines = map[string]int{
	"GET /x HTTP/1.1\r\nHost: x":                          200,
	"GET /x?a=b|c[] HTTP/1.1\r\nHost: x:8080":             200,
	"GET http://y/x HTTP/1.1\r\nHost: x":                  200,
	"GET HTTPS://y:443 HTTP/1.1\r\nHost: x":               200,
	"GET /x HTTP/1.1\r\nHost: [2001:db8::1]:80":           200,
	"OPTIONS * HTTP/1.1\r\nHost: x":                       200,
	"GET /x HTTP/1.0":                                     200,
	"GET x:http://u/admin/x HTTP/1.1\r\nHost: x":          400,
	"GET http:admin/x HTTP/1.1\r\nHost: x":                400,
	"GET http:/admin/x HTTP/1.1\r\nHost: x":               400,
	"GET x:%2fadmin/x HTTP/1.1\r\nHost: x":                400,
	"GET file:///etc/passwd HTTP/1.1\r\nHost: x":          400,
	"GET ftp://u/admin/x HTTP/1.1\r\nHost: x":             400,
	"GET http://u:p@x/a HTTP/1.1\r\nHost: x":              400,
	"GET http:///admin/x HTTP/1.1\r\nHost: x":             400,
	"GET * HTTP/1.1\r\nHost: x":                           400,
	"GET ?x HTTP/1.1\r\nHost: x":                          400,
	"GET /x#y HTTP/1.1\r\nHost: x":                        400,
	"GET /x?y#z HTTP/1.1\r\nHost: x":                      400,
	"OPTIONS *?x HTTP/1.1\r\nHost: x":                     400,
	"CONNECT x:80 HTTP/1.1\r\nHost: x":                    400,
	"CONNECT /admin/x HTTP/1.1\r\nHost: x":                400,
	"GET http://x%22y/ HTTP/1.1\r\nHost: x":               400,
	"GET http://x\"y/ HTTP/1.1\r\nHost: x":                400,
	"GET /x HTTP/1.1\r\nHost: x;for=\"1.2.3.4":            400,
	"GET /x HTTP/1.1\r\nHost: a:b":                        400,
	"GET /x HTTP/1.1\r\nHost: a:80:80":                    400,
	"GET /x HTTP/1.1\r\nHost: %61":                        400,
	"GET /x HTTP/1.1\r\nHost: [::1":                       400,
	"GET /x HTTP/1.1\r\nHost: [fe80::1%25eth0]":           400,
	"GET /x HTTP/1.1\r\nHost: [1.2.3.4]":                  400,
	"GET /x HTTP/1.1\r\nHost: ::1":                        400,
	"GET /x HTTP/1.1\r\nHost: :80":                        400,
	"GET http://[fe80::1%25eth0]/ HTTP/1.1\r\nHost: x":    400,
	"GET http://x,http://y/admin/x HTTP/1.1\r\nHost: x":   200,
	"GET \\\\x/admin HTTP/1.1\r\nHost: x":                 400,
	"GET admin/x HTTP/1.1\r\nHost: x":                     400,
	"GET data:,/admin/x HTTP/1.1\r\nHost: x":              400,
	"GET  /admin/x HTTP/1.1\r\nHost: x":                   400,
	"GET /x /admin/x HTTP/1.1\r\nHost: x":                 400,
	"GET http://x/ http://y/admin HTTP/1.1\r\nHost: x":    400,
	"GET mailto:x@y HTTP/1.1\r\nHost: x":                  400,
	"GET x://u/admin/x HTTP/1.1\r\nHost: x":               400,
	"GET http://x@/admin HTTP/1.1\r\nHost: x":             400,
	"GET http:\\\\x/admin HTTP/1.1\r\nHost: x":            400,
	"GET https:?//admin/x HTTP/1.1\r\nHost: x":            400,
	"GET //x/admin HTTP/1.1\r\nHost: x":                   200,
	"GET /http://x/admin HTTP/1.1\r\nHost: x":             200,
	"GET /x HTTP/1.1\r\nHost: EXAMPLE.test.":              200,
	"GET /x HTTP/1.1\r\nHost: 192.0.2.1:80":               200,
	"GET /x HTTP/1.1\r\nHost: a_b!$&'()*+,;=~-":           200,
	"GET http://x?y HTTP/1.1\r\nHost: x":                  200,
	"GET http://x:/?y HTTP/1.1\r\nHost: x":                200,
	"PROPFIND /x HTTP/1.1\r\nHost: x":                     200,
	"GET /%zz HTTP/1.1\r\nHost: x":                        400,
	"GET /x HTTP/1.1\r\nHost: x y":                        400,
	"GET /x HTTP/1.1\r\nHost: x@y":                        400,
	"GET /x HTTP/1.1\r\nHost: x/y":                        400,
	"GET /x HTTP/1.1\r\nHost: x?y":                        400,
	"GET /x HTTP/1.1\r\nHost: \xc3\xa9":                   400,
	"GET http://\xc3\xa9/ HTTP/1.1\r\nHost: x":            400,
	"GET http://x:8x/ HTTP/1.1\r\nHost: x":                400,
	"G@T /x HTTP/1.1\r\nHost: x":                          400,
	"GET\t/x HTTP/1.1\r\nHost: x":                         400,
	"GET /x\x7f HTTP/1.1\r\nHost: x":                      400,
	"GET /x\t/y HTTP/1.1\r\nHost: x":                      400,
	"GET http://x/%zz HTTP/1.1\r\nHost: x":                400,
	"OPTIONS http://x HTTP/1.1\r\nHost: x":                200,
	"OPTIONS /x HTTP/1.1\r\nHost: x":                      200,
	"GET http://x/ HTTP/1.1\r\nHost: y\r\nHost: z":        400,
	"GET /x HTTP/1.1\r\nHost: x\r\nHost: x":               400,
	"GET urn:uuid:/admin/x HTTP/1.1\r\nHost: x":           400,
	"GET x:/admin/x HTTP/1.1\r\nHost: x":                  400,
	"GET http://x:80@y/admin HTTP/1.1\r\nHost: x":         400,
	"GET http://x;y/admin HTTP/1.1\r\nHost: x":            200,
	"GET http://[::1]:80/x HTTP/1.1\r\nHost: x":           200,
	"GET http://[v1.x]/x HTTP/1.1\r\nHost: x":             400,
	"GET /x HTTP/1.1\r\nHost: [::ffff:192.0.2.1]":         200,
	"GET /x HTTP/1.1\r\nHost: [2001:db8::1]8080":          400,
	"GET //admin/x HTTP/1.1\r\nHost: x":                   200,
	"GET /x?http://y/admin/x HTTP/1.1\r\nHost: x":         200,
	"GET http://x//admin/x HTTP/1.1\r\nHost: x":           200,
	"GET http://x/../admin/x HTTP/1.1\r\nHost: x":         200,
	"GET http://x/..%2fadmin%2fx HTTP/1.1\r\nHost: x":     200,
	"GET http://x#/admin/x HTTP/1.1\r\nHost: x":           400,
	"GET http://x\\y/admin/x HTTP/1.1\r\nHost: x":         400,
	"GET https://x:443/admin/x?http:x HTTP/1.1\r\nHost: ": 200,
}

// unclean are the targets of firstLines whose path has another form.
var unclean = []string{
	"//x/admin", "/http://x/admin", "//admin/x", "http://x//admin/x", "http://x/../admin/x", "http://x/..%2fadmin%2fx", "http://x,http://y/admin/x",
}

// TestTargets sends first lines to servers of net/http with each kind of guard. What is
// refused does not reach what stands behind; what is served has one path and one host.
func TestTargets(t *testing.T) {
	pipeline := policyOf(t, "steps: [{limit: {rate: 100000/1s, per: path}}]")
	set := parse(t, strings.ReplaceAll(openRoutes, "1/1h", "100000/1h"))
	transport := nethttp.NewRoutedTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	}), set, nethttp.WithRefusalAnswers())
	for name, guard := range map[string]func(next http.Handler) http.Handler{
		"handler": func(next http.Handler) http.Handler { return nethttp.NewHandler(next, pipeline) },
		"skip": func(next http.Handler) http.Handler {
			return nethttp.NewHandler(next, pipeline, nethttp.WithSkip(func(*http.Request) bool { return true }))
		},
		"routed handler": func(next http.Handler) http.Handler { return nethttp.NewRoutedHandler(next, set) },
		"proxy":          func(next http.Handler) http.Handler { return transport.Proxy(next) },
		"inbound": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				out := httptest.NewRequest(http.MethodGet, "http://upstream/", nil)
				resp, err := transport.RoundTrip(out.WithContext(nethttp.WithInbound(r.Context(), r)))
				if assert.NoError(t, err); resp.StatusCode != 200 {
					w.WriteHeader(resp.StatusCode)
					return
				}
				next.ServeHTTP(w, r)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				served := 0
				behind := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					served++
					path := r.URL.Path
					assert.True(t, path == "" || path[0] == '/' || path == "*" && r.Method == http.MethodOptions, path)
					assert.Empty(t, r.URL.Opaque)
					assert.Nil(t, r.URL.User)
					if r.URL.Host != "" {
						assert.Equal(t, r.Host, r.URL.Host)
					}
				})
				l := pipes.Listen()
				server := &http.Server{Handler: guard(behind), DisableGeneralOptionsHandler: true}
				done := make(chan error, 1)
				go func() { done <- server.Serve(l) }()
				for line, want := range firstLines {
					target := strings.Fields(line)[1]
					if name == "inbound" && slices.Contains(unclean, target) {
						want = 400 // no Transport can send the clean form
					}
					before := served
					if got := statusOf(t, l, line+"\r\nConnection: close\r\n\r\n"); name == "proxy" && strings.HasPrefix(line, "OPTIONS *") {
						assert.Equal(t, before, served, "the proxy answers itself")
						assert.Equal(t, want, got, line)
					} else {
						assert.Equal(t, want, got, line)
						assert.Equal(t, want == 200, served > before, line)
					}
				}
				server.Close()
				<-done
			})
		})
	}
}

func statusOf(t *testing.T, l *pipes.Listener, text string) int {
	t.Helper()
	conn, err := l.Dial(t.Context(), "", "")
	require.NoError(t, err)
	defer conn.Close()
	go func(conn net.Conn) { _, _ = io.WriteString(conn, text) }(conn)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// TestRequestURIOfTheCleanForm has a handler that reads the path from RequestURI, and one
// behind http.StripPrefix, whose paths have no slash in front.
func TestRequestURIOfTheCleanForm(t *testing.T) {
	set := parse(t, openRoutes)
	var uri, path string
	behind := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { uri, path = r.RequestURI, r.URL.Path })
	routed := nethttp.NewRoutedHandler(behind, set)
	for target, want := range map[string]string{"/a/../b?x=%41": "/b?x=%41", "/b": "/b", "//c": "/c"} {
		routed.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
		assert.Equal(t, want, uri, target)
	}
	stripped := http.StripPrefix("/v1/", routed)
	for _, want := range []int{200, 429} {
		w := httptest.NewRecorder()
		stripped.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/admin/x", nil))
		assert.Equal(t, want, w.Code, "the route of /admin/** is that of admin/x")
		assert.Equal(t, "/admin/x", path)
	}
}

// TestOpaqueOfAProgram has a program say by Opaque what is sent: the routes compare that.
func TestOpaqueOfAProgram(t *testing.T) {
	set := parse(t, openRoutes)
	var sent []string
	transport := nethttp.NewRoutedTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r.URL.RequestURI())
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	}), set, nethttp.WithRefusalAnswers())
	for _, c := range []struct {
		opaque string
		status int
	}{{"//x/admin/x", 200}, {"/admin/x?y", 429}, {"//x/admin/x", 429}, {"/other", 200}, {"admin/x", 400}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x", nil)
		require.NoError(t, err)
		r.URL.Opaque = c.opaque
		resp, err := transport.RoundTrip(r)
		require.NoError(t, err)
		assert.Equal(t, c.status, resp.StatusCode, c.opaque)
		resp.Body.Close()
	}
	assert.Equal(t, []string{"http://x/admin/x", "/other"}, sent)
}
