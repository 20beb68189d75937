package scenarios_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// TestConnectionNamesKey sends keys in fields that Connection names. Envoy removes such
// fields before the filter is asked: no request passes whose key the upstream does not
// see.
func TestConnectionNamesKey(t *testing.T) {
	const fields = "X-Key: a\r\nAuthorization: Bearer t\r\nCookie: sid=1\r\n"
	seen := make(chan http.Header, 1)
	upstream := envoytest.Serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header })
	var e *envoy.Envoy
	for _, c := range []struct{ per, field string }{{"header:x-key", "X-Key"}, {"header:authorization", "Authorization"}, {"cookie:sid", "Cookie"}} {
		f := filter(t, document("process", `{"limit":{"rate":"100/1h","per":"`+c.per+`","missing":"deny"}}`))
		f.VM = c.per
		config := envoy.Config{Upstream: upstream.Address(), Filters: []envoy.Filter{f.Filter()}}
		if e == nil {
			e = envoytest.Start(t, config)
		} else {
			require.NoError(t, e.Push(config))
		}
		for _, x := range []struct {
			lines, reason string
			status        int
		}{
			{"", "", 200},
			{"Connection: te\r\nTE: trailers\r\n", "", 200},
			{"Connection: x-other, keep-alive\r\n", "", 200},
			{"Connection: " + c.field + "\r\n", "missing", 400},
			{"Connection: close, " + strings.ToUpper(c.field) + " \r\n", "missing", 400},
			{"Connection: x-other\r\nConnection: " + c.field + "\r\n", "missing", 400},
			{"Connection: te, " + c.field + "\r\nTE: trailers\r\n", "missing", 400},
			{"Connection: x-forwarded-for\r\n", "", 400}, // by Envoy itself
		} {
			got := sendRaw(t, e.Address(), "GET / HTTP/1.1\r\nHost: x\r\n"+fields+x.lines+"\r\n")
			assert.Equal(t, x.status, got.StatusCode, "%s: %q", c.per, x.lines)
			assert.Equal(t, x.reason, got.Header.Get("X-Throttle-Reason"), "%s: %q", c.per, x.lines)
			select {
			case h := <-seen:
				assert.NotEmpty(t, h.Get(c.field), "%s: %q", c.per, x.lines)
			default:
				assert.NotEqual(t, 200, got.StatusCode, "%s: %q", c.per, x.lines)
			}
		}
	}
}

// sendRaw sends the bytes of a request without a body on a connection of its own.
func sendRaw(t *testing.T, address, request string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, request)
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r
}
