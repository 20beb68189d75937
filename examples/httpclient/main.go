// Httpclient shows a client that is guarded by a policy, and a service that
// fails for a while.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
)

const policy = `
version: 1
policies:
  vendor:
    steps:
      - timeout: 5s
      - retry: {attempts: 3, backoff: {constant: 5ms}, jitter: none}
      - breaker: {window: {consecutive: 4}, open: 1m}
      - limit: 500/s
      - bulkhead: 8
      - timeout: 1s
`

func main() {
	var requests atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n := requests.Add(1); n == 1 || n > 3 {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "42")
	}))
	defer service.Close()

	set, err := sluice.Parse("policy.yaml", []byte(policy))
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: nethttp.NewTransport(service.Client().Transport, set.Pipeline("vendor"))}
	for i := range 5 {
		fmt.Printf("call %d: %s\n", i+1, get(client, service.URL))
	}
	fmt.Println("requests that the service saw:", requests.Load())
}

// get says what a caller sees.
func get(client *http.Client, url string) string {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	answer, err := client.Do(request)
	var refused *sluice.RejectedError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("refused by the %s: %s", refused.Step, refused.Reason)
	case err != nil:
		return err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	details, _ := nethttp.Info(answer)
	return fmt.Sprintf("%d %.12q after %d attempts", answer.StatusCode, body, details.Attempts)
}
