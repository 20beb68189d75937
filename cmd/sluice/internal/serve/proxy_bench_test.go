package serve

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

const benchDocument = `
version: 1
policies:
  api:
    steps:
      - timeout: 10s
      - retry: 3
      - breaker: {window: {time: 2s, buckets: 10}, minimum: 20, failure_rate: 50%, open: 1s, probes: 5}
      - limit: {rate: 1000000000/s}
      - bulkhead: {concurrent: 1000}
      - timeout: 1s
routes:
  - {path: /api/**, policy: api}
`

// instant answers without a network.
type instant struct{}

func (i instant) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"text/plain"}}, ContentLength: 5,
		Body: io.NopCloser(strings.NewReader("hello")), Request: r,
	}, nil
}

// nowhere is a client that takes everything.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}
func (n *nowhere) Flush()                      {}

func benchmark(b *testing.B, h http.Handler) {
	r := httptest.NewRequest("GET", "http://example.test/api/x", nil)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(&nowhere{http.Header{}}, r)
	}
}

func BenchmarkReverseProxy(b *testing.B) {
	target := &url.URL{Scheme: "http", Host: "upstream.test"}
	benchmark(b, &httputil.ReverseProxy{
		Rewrite:   func(p *httputil.ProxyRequest) { p.SetURL(target); p.SetXForwarded() },
		Transport: instant{}, BufferPool: &Buffers{},
	})
}

func BenchmarkServe(b *testing.B) {
	c := Config{
		File: "policy.yaml", Source: []byte(benchDocument), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
		Log: slog.New(slog.DiscardHandler),
	}
	asByDefault(&c)
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	s.transport = instant{}
	benchmark(b, s.handler())
}
