package nethttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

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

// A deadline and a priority go over two hops: a service calls another one for its
// client, with the context of the client's request.
func ExampleWithDeadlineHeader() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  api: {steps: [{timeout: 30s}]}
  vendor: {steps: [{timeout: 10s}]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	vendor := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		left, _ := strconv.Atoi(r.Header.Get(nethttp.DeadlineHeader))
		fmt.Println("at most 2s left:", left > 1000 && left <= 2000)
		fmt.Println("priority:", r.Header.Get("Priority"))
	}))
	defer vendor.Close()

	deadline := nethttp.WithDeadlineHeader(nethttp.DeadlineHeader, 20*time.Second)
	carry := nethttp.WithCarriedHeaders("Priority")
	client := &http.Client{Transport: nethttp.NewTransport(nil, set.Pipeline("vendor"), deadline, carry)}
	api := nethttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, vendor.URL, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		resp, err := client.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		resp.Body.Close()
	}), set.Pipeline("api"), deadline, carry)

	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set(nethttp.DeadlineHeader, "2000")
	r.Header.Set("Priority", "u=1")
	api.ServeHTTP(httptest.NewRecorder(), r)
	// Output:
	// at most 2s left: true
	// priority: u=1
}

func ExampleWithOverride() {
	set, err := sluice.Parse("policy.yaml", []byte(`
version: 1
policies:
  vendor: {steps: [{retry: {attempts: 3, backoff: none}}, {limit: {rate: 10/1h, per: key}}]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer server.Close()
	p := set.Pipeline("vendor")
	client := &http.Client{Transport: nethttp.NewTransport(nil, p)}
	ctx := nethttp.WithOverride(context.Background(), nethttp.Override{Key: "tenant-a", Cost: 4, NoRetry: "the user waits"})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	info, _ := nethttp.Info(resp)
	fmt.Println(resp.StatusCode, "after", info.Attempts, "attempt:", info.NoRetry)
	fmt.Println(p.Limits(sluice.Request{Key: "tenant-a"}, nil)[0].Free, "permits left")
	// Output:
	// 502 after 1 attempt: the user waits
	// 6 permits left
}
