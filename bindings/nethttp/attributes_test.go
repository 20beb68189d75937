package nethttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

// TestOneCredentialIsOneKey sends one credential in many spellings, of which the first alone
// passes a limit of one, and credentials that a proxy removes.
func TestOneCredentialIsOneKey(t *testing.T) {
	one := func(per, missing string) *sluice.Set {
		return parse(t, "version: 1\npolicies: {p: {steps: [{limit: {rate: 1/1h, per: '"+per+"', missing: "+missing+"}}]}}\nroutes: [{path: /**, policy: p}]")
	}
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	guards := map[string]func(set *sluice.Set) http.Handler{
		"handler": func(set *sluice.Set) http.Handler { return nethttp.NewRoutedHandler(ok, set) },
		"proxy": func(set *sluice.Set) http.Handler {
			transport := nethttp.NewRoutedTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
			}), set, nethttp.WithRefusalAnswers())
			return transport.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				resp, err := transport.RoundTrip(r)
				if assert.NoError(t, err) {
					w.WriteHeader(resp.StatusCode)
				}
			}))
		},
	}
	for name, guard := range guards {
		for _, c := range []struct {
			per    string
			fields []string
		}{
			{"header:authorization", []string{"Authorization: Bearer t", "Authorization: bearer t", "Authorization: BEARER  t", "Authorization: Bearer" + strings.Repeat(" ", 20) + "t", "Authorization: Bearer\t \tt ", "Authorization: Bearer t\nAuthorization: bearer  t"}},
			{"header:x-key", []string{"X-Key: a", "X-Key:  a ", "X-Key: a\t", "X-Key: a\nX-Key: a "}},
			{"cookie:sid", []string{"Cookie: sid=1", "Cookie: sid=1; a=b", "Cookie: a=b;  sid = 1", `Cookie: sid="1"`, "Cookie: a=b\nCookie: sid=1"}},
			{"query:q", []string{"?q=a+b", "?q=a%20b", "?%71=a%20b", "?x&q=a+%62"}},
			{"host", []string{"Host: x", "Host: X.", "Host: x:80"}},
		} {
			h := guard(one(c.per, "deny"))
			for i, field := range c.fields {
				want := 429
				if i == 0 {
					want = 200
				}
				assert.Equal(t, want, answerTo(h, field), "%s %q", name, field)
			}
		}
		for per, field := range map[string]string{
			"header:x-key": "X-Key: a\nConnection: x-key", "header:authorization": "Authorization: Bearer t\nConnection: close, AUTHORIZATION ", "cookie:sid": "Cookie: sid=1\nConnection: Cookie",
		} {
			assert.Equal(t, 400, answerTo(guard(one(per, "deny")), field), "%s %q", name, field)
		}
	}
	// A proxy sends none of these on. Of hops it believes the trusted ones alone.
	for per, field := range map[string]string{
		"header:proxy-authorization": "Proxy-Authorization: Basic t", "header:keep-alive": "Keep-Alive: a", "header:x-forwarded-for": "X-Forwarded-For: 1.2.3.4", "header:x-real-ip": "X-Real-Ip: a",
	} {
		assert.Equal(t, 400, answerTo(guards["proxy"](one(per, "deny")), field), field)
	}
	// Those that say how a connection is used stay.
	assert.Equal(t, 200, answerTo(guards["handler"](one("header:upgrade", "deny")), "Upgrade: websocket\nConnection: Upgrade"))
	// Keys that differ stay apart: a credential without a scheme may be in any case.
	h := guards["handler"](one("header:authorization", "deny"))
	for _, field := range []string{"Authorization: KEY", "Authorization: key", "Authorization: Bearer A", "Authorization: Bearer a", "Authorization: Basic A"} {
		assert.Equal(t, 200, answerTo(h, field), field)
	}
}

// answerTo returns the status of the answer to a request with lines of fields, or a query.
func answerTo(h http.Handler, lines string) int {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if strings.HasPrefix(lines, "?") {
		r = httptest.NewRequest(http.MethodGet, "/"+lines, nil)
		lines = ""
	}
	for line := range strings.SplitSeq(lines, "\n") {
		if name, value, ok := strings.Cut(line, ": "); name == "Host" {
			r.Host = value
		} else if ok {
			r.Header.Add(name, value)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}
