package nethttp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/internal/pipes"
)

// troubled is a service with every trouble there is, chosen by the path.
func troubled(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ok":
		_, _ = io.WriteString(w, "ok")
	case "/unavailable":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(503)
	case "/broken":
		panic(http.ErrAbortHandler)
	case "/hangs":
		// A server sees that the client is gone once it has the body.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	case "/slow":
		_, _ = io.Copy(io.Discard, r.Body)
		for range 5 {
			_, _ = io.WriteString(w, "some of it\n")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	case "/early": // answers before it has read the body
		w.WriteHeader(429)
		_, _ = io.WriteString(w, "too many")
	case "/long":
		w.WriteHeader(500)
		_, _ = io.WriteString(w, strings.Repeat("x", nethttp.DefaultMaxBody+1))
	}
}

// counting counts the bodies that a round tripper hands out until they are
// closed, and panics for /panics.
type counting struct {
	next     http.RoundTripper
	open     atomic.Int64
	attempts atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.attempts.Add(1)
	if r.URL.Path == "/panics" {
		if r.Body != nil {
			r.Body.Close()
		}
		panic("a bug")
	}
	resp, err := c.next.RoundTrip(r)
	if err == nil {
		c.open.Add(1)
		resp.Body = &counted{ReadCloser: resp.Body, open: &c.open}
	}
	return resp, err
}

// one sends a request and does with the answer what a caller might.
func one(client *http.Client, i int) error {
	paths := []string{"/ok", "/unavailable", "/broken", "/hangs", "/slow", "/early", "/long", "/panics", "/slow", "/hangs"}
	path := paths[i%len(paths)]
	ctx := context.Background()
	if i%20 >= 10 && (path == "/hangs" || path == "/slow") {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
	}
	var body io.Reader
	if i%3 == 0 {
		size := i % 1000
		if i%12 == 0 {
			size = nethttp.DefaultMaxBody + i%2
		}
		body = onlyReader{strings.NewReader(strings.Repeat("y", size))}
	}
	r, err := http.NewRequestWithContext(ctx, "PUT", "http://troubled.test"+path, body)
	if err != nil {
		return err
	}
	defer func() { _ = recover() }()
	resp, err := client.Do(r)
	if err != nil {
		// Any is fine here, as long as nothing is kept. In a bubble, time
		// passes when all wait.
		var refused *sluice.RejectedError
		if errors.As(err, &refused) && refused.RetryAfter > 0 {
			time.Sleep(refused.RetryAfter)
		}
		return nil
	}
	defer resp.Body.Close()
	if i%7 != 0 {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	return nil
}

// TestNothingIsLeft runs in a bubble of synctest, which fails when a goroutine is left
// at its end.
func TestNothingIsLeft(t *testing.T) {
	for name, steps := range map[string][]string{
		"all steps": {
			"steps:",
			"  - timeout: 10s",
			"  - retry: {attempts: 3, backoff: {exponential: 10ms, max: 1s}}",
			"  - breaker: {window: {consecutive: 60}, open: 10ms, probes: 40}",
			"  - limit: {rate: 100000/1s, wait: 1s}",
			"  - bulkhead: {concurrent: 16, wait: 5s}",
			"  - timeout: 500ms",
		},
		"no timeout of its own": {"steps:", "  - retry: {attempts: 2, backoff: none}", "  - bulkhead: {concurrent: 8, wait: 1h}"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 10_000
			if name != "all steps" || testing.Short() {
				requests = 1_000
			}
			synctest.Test(t, func(t *testing.T) {
				wires := pipes.Listen()
				server := &http.Server{Handler: http.HandlerFunc(troubled), ErrorLog: log.New(io.Discard, "", 0)}
				served := make(chan error)
				go func() { served <- server.Serve(wires) }()
				base := &http.Transport{DialContext: wires.Dial, MaxIdleConnsPerHost: 16}
				if name != "all steps" {
					base.ResponseHeaderTimeout = time.Second
				}
				next := &counting{next: base}
				p := policyOf(t, steps...)
				client := &http.Client{Transport: nethttp.NewTransport(next, p)}
				var workers sync.WaitGroup
				for worker := range 37 {
					workers.Go(func() {
						for i := worker; i < requests; i += 37 {
							assert.NoError(t, one(client, i))
						}
					})
				}
				workers.Wait()
				client.CloseIdleConnections()
				require.NoError(t, server.Close())
				assert.True(t, errors.Is(<-served, http.ErrServerClosed))
				synctest.Wait()
				assert.Zero(t, next.open.Load(), "bodies left open")
				assert.Greater(t, next.attempts.Load(), int64(requests)/2, "too few got past the breaker")
				for _, s := range p.State() {
					assert.Zero(t, s.Waiting, s.Step)
					if s.Kind == mechanism.Bulkhead {
						assert.Contains(t, []uint32{8, 16}, s.Free)
					}
				}
			})
		})
	}
}
