package nethttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// fields returns n fields of 100 bytes each, as HTTP/1.1 writes them.
func fields(n int) http.Header {
	h := http.Header{}
	for i := range n {
		name := "X-Field-" + strconv.Itoa(100+i)
		h.Set(name, strings.Repeat("v", 100-len(name)-len(": \r\n")))
	}
	return h
}

// TestHeadersOfRequests has requests at and above each limit. The policy is not asked for
// those above: the permit is left.
func TestHeadersOfRequests(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits nethttp.HeaderLimits
		fields int
		status int
	}{
		{"no limits", nethttp.HeaderLimits{}, 300, 200},
		{"as many fields, Host included", nethttp.HeaderLimits{Fields: 11}, 10, 200},
		{"one field more", nethttp.HeaderLimits{Fields: 11}, 11, 431},
		{"few bytes", nethttp.HeaderLimits{Bytes: 1100}, 10, 200},
		{"more bytes", nethttp.HeaderLimits{Bytes: 1100}, 11, 431},
	} {
		p := policyOf(t, "steps: [{limit: 1/1h}]")
		served := 0
		h := nethttp.NewHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }), p, nethttp.WithHeaderLimits(test.limits))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = fields(test.fields)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.Equal(t, test.status, w.Code, test.name)
		assert.Equal(t, test.status == 200, served == 1, test.name)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		assert.Equal(t, 1, served, "%s: the permit", test.name)
	}
}

// TestHeadersOfAnswers has answers at and above each limit.
func TestHeadersOfAnswers(t *testing.T) {
	for limits, most := range map[nethttp.HeaderLimits]int{{Fields: 10}: 10, {Bytes: 1000}: 10} {
		for n := most; n <= most+1; n++ {
			upstream := answers(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: fields(n), Body: io.NopCloser(strings.NewReader("x"))}, nil
			})
			p := policyOf(t, "steps: [{breaker: {window: {calls: 10}}}, {bulkhead: 1}]")
			resp, err := nethttp.NewTransport(upstream, p, nethttp.WithAnswerHeaderLimits(limits)).RoundTrip(get(t, target))
			if n > most {
				require.ErrorContains(t, err, "nethttp: the answer has", "%+v, %d fields", limits, n)
				assert.Equal(t, "closed failed 1/1", votes(t, p))
			} else {
				require.NoError(t, err, "%+v, %d fields", limits, n)
				require.NoError(t, resp.Body.Close())
			}
			assert.Zero(t, upstream.bodies.Load())
			assert.Equal(t, 1, free(t, p))
		}
	}
}

// TestRefusalOfACostSaysWhatIsFree: with 1 permit free a request of cost 2 is refused, and r is 1.
func TestRefusalOfACostSaysWhatIsFree(t *testing.T) {
	for _, settings := range []string{"", ", per: ip", ", wait: 1ms, queue: 1", ", cost: 2", ", algorithm: fixed-window", ", algorithm: sliding-counter", ", algorithm: sliding-log", ", charge: settle"} {
		synctest.Test(t, func(t *testing.T) {
			p := policyOf(t, "steps:", "  - limit: {rate: 3/1m"+settings+"}")
			h := nethttp.NewHandler(says(200, "hello"), p, nethttp.WithCost(func(*http.Request) uint32 { return 2 }))
			for _, status := range []int{200, 429} {
				w := serve(h, get(t, "/a"))
				assert.Equal(t, status, w.Code, settings)
				assert.Regexp(t, `^"limit";r=1;`, w.Header().Get("RateLimit"), settings)
			}
		})
	}
}
