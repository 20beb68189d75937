package nethttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

func ExampleNewTransport() {
	first := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if first {
			first = false
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  vendor:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: none}
      - limit: 50/1m
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: nethttp.NewTransport(nil, set.Pipeline("vendor"))}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	info, _ := nethttp.Info(resp)
	fmt.Println(resp.StatusCode, "after", info.Attempts, "attempts")
	// Output: 200 after 2 attempts
}

func ExampleNewRoutedHandler() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  login: {steps: [{limit: {rate: 2/1h, burst: 1, per: ip}}]}
routes:
  - {path: /login, method: [POST], policy: login}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	h := nethttp.NewRoutedHandler(http.NotFoundHandler(), set)
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", nil))
		fmt.Printf("%d %s %q\n", w.Code, w.Header().Get("RateLimit-Policy"), w.Header().Get("Retry-After"))
	}
	// Output:
	// 404 "limit";q=2;w=3600 ""
	// 429 "limit";q=2;w=3600 "1800"
}
