package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
)

// document has every mechanism that a request can pass, and none that refuses a
// request while the upstream is healthy.
const document = `
version: 1
policies:
  api:
    steps:
      - timeout: 30s
      - retry: {attempts: 3, backoff: {exponential: 20ms, max: 200ms}, budget: 20%}
      - breaker: {window: {time: 2s, buckets: 10}, minimum: 20, failure_rate: 50%, open: 1s, probes: 5}
      - limit: {rate: 1000000/s}
      - bulkhead: {concurrent: 1000}
      - timeout: 10s
routes:
  - {path: /api/**, policy: api}
`

// answer is the body of the upstream's answers, of a usual size for an API.
var answer = []byte(`{"items":[` + strings.Repeat(`{"id":12345,"name":"thing"},`, 35) + `{}]}`)

// serveUpstream is a service that is healthy until PUT /brown?for=DURATION.
func serveUpstream() error {
	var until atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /brown", func(_ http.ResponseWriter, r *http.Request) {
		if d, err := time.ParseDuration(r.URL.Query().Get("for")); err == nil {
			until.Store(time.Now().Add(d).UnixNano())
		}
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if left := time.Until(time.Unix(0, until.Load())); left > 0 {
			// Slow, then failing: the worst kind of brown-out.
			select {
			case <-time.After(min(left, 500*time.Millisecond)):
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer)
	})
	return serveHTTP(mux)
}

// servePlain is the proxy to compare with.
func servePlain(upstream string) error {
	target := &url.URL{Scheme: "http", Host: upstream}
	return serveHTTP(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.SetXForwarded()
		},
		Transport:  serve.NewTransport(),
		BufferPool: &serve.Buffers{},
	})
}

func serveHTTP(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return server.Close()
}

// serveSluice is sluice serve as it is.
func serveSluice(upstream string) error {
	dir, err := os.MkdirTemp("", "sluice-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		return err
	}
	server, err := serve.New(serve.Config{
		File: file, Source: []byte(document), Upstreams: []*url.URL{{Scheme: "http", Host: upstream}},
		Listen: "127.0.0.1:0", Admin: "127.0.0.1:0",
		Log:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Ready: func(listen, admin net.Addr) { fmt.Println(listen, admin) },
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return server.Run(ctx)
}
