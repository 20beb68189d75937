package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair is a certificate of 127.0.0.1 and its key in files, signed by itself.
type pair struct{ cert, key string }

func newPair(t *testing.T) pair {
	dir := t.TempDir()
	p := pair{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	p.write(t, 1)
	return p
}

// write writes a new pair with a serial number, and returns the PEM blocks.
func (p pair) write(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "proxy.test"}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Duration(serial) * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	require.NoError(t, os.WriteFile(p.cert, cert, 0o600))
	require.NoError(t, os.WriteFile(p.key, key, 0o600))
	return cert, key
}

// roots returns the certificate as one that a client trusts.
func (p pair) roots(t *testing.T) *x509.CertPool {
	t.Helper()
	cert, err := os.ReadFile(p.cert)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	return roots
}

// client returns a client that trusts the certificate and speaks the protocols.
func (p pair) client(t *testing.T, protocols ...string) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots(t), NextProtos: protocols}, ForceAttemptHTTP2: true}
	if len(protocols) > 0 {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP1(protocols[0] == "http/1.1")
		transport.Protocols.SetHTTP2(protocols[0] == "h2")
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (p pair) pair() KeyPair { return KeyPair{p.cert, p.key} }

func (p pair) config(c *Config) { c.TLS.Certificates = []KeyPair{p.pair()} }

// body reads an answer.
func body(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

func TestTLS(t *testing.T) {
	files := newPair(t)
	p := run(t, open, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Proto"), " ", r.Header.Get("Via")[:3])
	}), files.config)
	address := "https" + strings.TrimPrefix(p.url, "http") + "/x"
	for protocol, want := range map[string]string{"h2": "HTTP/2.0", "http/1.1": "HTTP/1.1"} {
		resp, err := files.client(t, protocol).Get(address)
		text := body(t, resp, err)
		assert.Equal(t, want, resp.Proto)
		assert.Equal(t, "https "+map[string]string{"h2": "2 s", "http/1.1": "1.1"}[protocol], text)
		assert.GreaterOrEqual(t, resp.TLS.Version, uint16(tls.VersionTLS12))
	}
	dial := func(c *tls.Config) error {
		c.RootCAs = files.roots(t)
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "http://"), c)
		if err == nil {
			conn.Close()
		}
		return err
	}
	assert.NoError(t, dial(&tls.Config{MaxVersion: tls.VersionTLS12}))
	assert.ErrorContains(t, dial(&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), "protocol version")
	p.journal.await(t, "unsupported versions")
	resp, err := http.Get(p.url)
	assert.Contains(t, body(t, resp, err), "HTTP request to an HTTPS server")
	assert.Regexp(t, `^sluice_tls_certificate_not_after_timestamp_seconds\{file=".*tls.crt"\} 1\.\d+e\+09$`, p.metric(t, "sluice_tls"))
}

// fronted serves s by TLS until the test ends, and returns its URL.
func fronted(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	front, done := s.front(), make(chan error)
	go func() { done <- serveFront(front, l) }()
	t.Cleanup(func() {
		front.Close()
		<-done
	})
	return "https://" + l.Addr().String()
}

// TestCertificatesAreReloaded replaces the files and has a connection stay open.
func TestCertificatesAreReloaded(t *testing.T) {
	files, j := newPair(t), newJournal()
	s, err := New(Config{
		File: "p.yaml", Source: []byte(open), Upstreams: []*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}},
		Log: slog.New(slog.NewJSONHandler(j, nil)), TLS: TLS{Certificates: []KeyPair{files.pair()}},
	})
	require.NoError(t, err)
	address := fronted(t, s)
	old := files.client(t, "http/1.1")
	serial := func(client *http.Client) int64 {
		t.Helper()
		resp, err := client.Get(address)
		body(t, resp, err)
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	assert.EqualValues(t, 1, serial(old))

	files.write(t, 2)
	for range 2 { // one look for the change, one to see that it is complete
		s.tls.reload(false)
	}
	assert.Equal(t, "INFO", j.await(t, "certificate is used from now on")["level"])
	assert.EqualValues(t, 2, serial(files.client(t)))
	assert.EqualValues(t, 1, serial(old), "the connection is still open")

	trusts := files.client(t)
	second, err := os.ReadFile(files.cert)
	require.NoError(t, err)
	pair{files.cert, files.key + ".new"}.write(t, 3)
	for range 5 {
		s.tls.reload(false)
	}
	assert.Equal(t, 1, j.count("the old one is used on"))
	assert.Contains(t, j.await(t, "the old one is used on")["error"], "private key does not match public key")
	assert.EqualValues(t, 2, serial(trusts))
	require.NoError(t, os.WriteFile(files.cert, second, 0o600))
	s.tls.reload(true)
	j.await(t, "certificate is used from now on")
}

func TestCertificatesAreReloadedOnRequest(t *testing.T) {
	files := newPair(t)
	p := run(t, open, http.HandlerFunc(tells), files.config)
	files.write(t, 2)
	p.reload <- syscall.SIGHUP
	p.journal.await(t, "certificate is used from now on")
}

func TestBadCertificates(t *testing.T) {
	files := newPair(t)
	_, err := New(Config{File: "p.yaml", Source: []byte(open), Upstreams: []*url.URL{{}},
		TLS: TLS{Certificates: []KeyPair{{files.cert, files.cert}}}})
	assert.ErrorContains(t, err, "the certificate "+files.cert+" with the key "+files.cert)
}
