// Httpserver shows a server with a limit for each tenant.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

const policy = `
version: 1
policies:
  api:
    steps:
      - limit: {name: tenant, algorithm: fixed-window, rate: 2/1h, per: header:x-tenant}
      - bulkhead: 32
routes:
  - {path: /api/**, policy: api}
`

func main() {
	set, err := sluice.Parse("policy.yaml", []byte(policy))
	if err != nil {
		log.Fatal(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := httptest.NewServer(nethttp.NewRoutedHandler(hello, set))
	defer server.Close()

	for _, tenant := range []string{"a", "a", "a", "b"} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, server.URL+"/api/hello", nil)
		if err != nil {
			log.Fatal(err)
		}
		request.Header.Set("X-Tenant", tenant)
		answer, err := server.Client().Do(request)
		if err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
		fmt.Printf("tenant %s: %d, RateLimit-Policy %s\n", tenant, answer.StatusCode, answer.Header.Get("RateLimit-Policy"))
	}
}
