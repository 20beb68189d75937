package serve

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// protocol answers with the version in which a request came.
func protocol(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.Host) }

// TestUpstreamsOfEachProtocol has upstreams that speak one protocol each.
func TestUpstreamsOfEachProtocol(t *testing.T) {
	start := func(change func(*httptest.Server)) *httptest.Server {
		server := httptest.NewUnstartedServer(http.HandlerFunc(protocol))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		change(server)
		t.Cleanup(server.Close)
		return server
	}
	secure := start(func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	})
	old := start(func(s *httptest.Server) { s.StartTLS() })
	clear := start(func(s *httptest.Server) {
		s.Config.Protocols = priorKnowledge()
		s.Start()
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	// Both servers of httptest have the same certificate.
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	for name, c := range map[string]struct {
		scheme, address, want string
		trusted               bool
	}{
		"https by ALPN":        {"https", secure.Listener.Addr().String(), "HTTP/2.0", true},
		"https without HTTP/2": {"https", old.Listener.Addr().String(), "HTTP/1.1", true},
		"an unknown authority": {"https", secure.Listener.Addr().String(), "", false},
		"h2c":                  {"h2c", clear.Listener.Addr().String(), "HTTP/2.0", false},
		"http to h2c":          {"http", clear.Listener.Addr().String(), "", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := run(t, open, http.NotFoundHandler(), func(config *Config) {
				config.Upstreams = []*url.URL{{Scheme: c.scheme, Host: c.address}}
				if c.trusted {
					config.UpstreamCA = ca
				}
			})
			resp, body := get(t, p.url+"/x")
			if c.want == "" {
				assert.Equal(t, 502, resp.StatusCode)
				return
			}
			assert.Equal(t, 200, resp.StatusCode)
			assert.Equal(t, c.want+" "+c.address, body)
		})
	}
}

func TestBadCertificatesOfUpstreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	c := Config{File: "p.yaml", Source: []byte(open), Upstreams: []*url.URL{{}}, UpstreamCA: file}
	_, err := New(c)
	assert.ErrorContains(t, err, "no such file")
	require.NoError(t, os.WriteFile(file, []byte("no certificate"), 0o600))
	_, err = New(c)
	assert.ErrorContains(t, err, file+" has no certificate in PEM")
}

// TestReadinessKnowsSeveralUpstreams is ready as long as one can be connected to.
func TestReadinessKnowsSeveralUpstreams(t *testing.T) {
	inFleet(t, 2, func(int, http.ResponseWriter, *http.Request) {}, func(f *fleet) {
		f.down[0].Store(true)
		f.requests(20, 200)
		assert.NoError(t, f.ready(f.t.Context()))
		f.down[1].Store(true)
		for _, u := range f.upstreams {
			u.transport.CloseIdleConnections()
		}
		resp, _ := f.get("/x")
		assert.Equal(t, 502, resp.StatusCode)
		assert.ErrorContains(t, f.ready(f.t.Context()), "the upstream cannot be connected to")
		f.down[0].Store(false)
		assert.NoError(t, f.ready(f.t.Context()))
	})
}
