package nethttp_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/bindings/nethttp"
)

// TestConditions: a denied request is 403 without the fallback and without Retry-After, an
// allowed one passes, and the headers show the limits that apply.
func TestConditions(t *testing.T) {
	h := nethttp.NewHandler(says(200, ""), policyOf(t,
		"allow: {ip: 10.0.0.0/8}",
		`deny: {"header:x-agent": [scraper]}`,
		"steps:",
		`  - limit: {rate: 1/1h, class: "header:x-plan", rates: {free: 2/1h}}`,
		"fallback: {status: 503, body: later}"))
	ask := func(ip, plan, agent string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = ip + ":1"
		if plan != "" {
			r.Header.Set("X-Plan", plan)
		}
		if agent != "" {
			r.Header.Set("X-Agent", agent)
		}
		return serve(h, r)
	}
	w := ask("192.0.2.1", "free", "")
	assert.Equal(t, []any{200, `"limit-free";q=2;w=3600`}, []any{w.Code, w.Header().Get("Ratelimit-Policy")})
	w = ask("192.0.2.1", "", "")
	assert.Equal(t, []any{200, `"limit";q=1;w=3600`}, []any{w.Code, w.Header().Get("Ratelimit-Policy")})
	w = ask("192.0.2.1", "gold", "")
	assert.Equal(t, []any{503, "later", "rate"}, []any{w.Code, w.Body.String(), w.Header().Get("X-Throttle-Reason")})
	for range 3 {
		w = ask("10.1.2.3", "", "")
		assert.Equal(t, []any{200, ""}, []any{w.Code, w.Header().Get("Ratelimit")})
	}
	w = ask("10.1.2.3", "", "scraper")
	assert.Equal(t, []any{403, "denied", ""}, []any{w.Code, w.Header().Get("X-Throttle-Reason"), w.Header().Get("Retry-After")})
	assert.Equal(t, `{"type":"about:blank","title":"Forbidden","status":403,"detail":"The policy of the service denies the request.","reason":"denied","step":"deny"}`+"\n", w.Body.String())
	r := httptest.NewRequest("GET", "/", nil)
	r.Header["X-Plan"] = []string{"free", "pro"}
	w = serve(h, r)
	assert.Equal(t, []any{400, "key"}, []any{w.Code, w.Header().Get("X-Throttle-Reason")}, "two plans")
}

// TestHeadersOfSkippedLimits: a limit that a request does not pass is in no header, also
// beside one in shadow.
func TestHeadersOfSkippedLimits(t *testing.T) {
	h := nethttp.NewHandler(says(200, ""), policyOf(t,
		"steps:",
		`  - limit: {name: mine, rate: 2/1h, per: "header:x-user", missing: skip}`,
		`  - limit: {name: free, rate: 3/1h, when: {"header:x-plan": free}}`,
		"  - limit: {name: dry, rate: 4/1h, shadow: true}"))
	for header, want := range map[string]string{"": "", "X-User": `"mine";q=2;w=3600`, "X-Plan": `"free";q=3;w=3600`} {
		r := httptest.NewRequest("GET", "/", nil)
		if header != "" {
			r.Header.Set(header, "free")
		}
		w := serve(h, r)
		assert.Equal(t, want, w.Header().Get("Ratelimit-Policy"))
		assert.Equal(t, want != "", w.Header().Get("Ratelimit") != "")
	}
}
