package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signer is an authority with its certificate in a file.
type signer struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newSigner(t *testing.T, name string) *signer {
	t.Helper()
	s := &signer{file: filepath.Join(t.TempDir(), name+".pem")}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	s.cert, s.key = template, nil
	der, key := s.sign(t, template)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	s.cert, s.key = cert, key
	require.NoError(t, os.WriteFile(s.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return s
}

// sign signs a certificate with a new key; by that key itself while the authority has none.
func (s *signer) sign(t *testing.T, template *x509.Certificate) (der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	by := s.key
	if by == nil {
		by = key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, s.cert, &key.PublicKey, by)
	require.NoError(t, err)
	return der, key
}

// issue writes a pair of files with a certificate that the authority has signed.
func (s *signer) issue(t *testing.T, change func(*x509.Certificate)) pair {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	change(template)
	der, key := s.sign(t, template)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	p := pair{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	require.NoError(t, os.WriteFile(p.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(p.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	return p
}

// client returns a pair for a client of a name.
func (s *signer) client(t *testing.T, name string) pair {
	return s.issue(t, func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: name, Organization: []string{"Example"}} })
}

// server returns a pair for a server of names.
func (s *signer) server(t *testing.T, names ...string) pair {
	return s.issue(t, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = names, []net.IP{{127, 0, 0, 1}} })
}

func (p pair) load(t *testing.T) tls.Certificate {
	t.Helper()
	one, err := tls.LoadX509KeyPair(p.cert, p.key)
	require.NoError(t, err)
	return one
}

// from returns a client that trusts the authority and shows certificates.
func (s *signer) from(t *testing.T, own ...pair) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(s.cert)
	config := &tls.Config{RootCAs: roots}
	for _, p := range own {
		config.Certificates = append(config.Certificates, p.load(t))
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

const perClient = "version: 1\npolicies: {api: {steps: [{limit: {rate: 1/1h, per: key, missing: deny}}]}}\nhttp: {default: api}\n"

// TestClientsWithCertificates has the certificate of each client be the key of its limit.
func TestClientsWithCertificates(t *testing.T) {
	ours, others, j := newSigner(t, "ours"), newSigner(t, "others"), newJournal()
	p := run(t, perClient, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["Client-Cert"], "|"))
	}), func(c *Config) {
		c.TLS = TLS{Certificates: []KeyPair{ours.server(t).pair()}, Clients: ours.file, Forward: true}
		c.Access = j
	})
	address := "https" + strings.TrimPrefix(p.url, "http")
	a, b := ours.client(t, "a"), ours.client(t, "b")
	for _, own := range []pair{a, b} {
		client := ours.from(t, own)
		for _, want := range []int{200, 429} {
			r, err := http.NewRequest("GET", address, nil)
			require.NoError(t, err)
			r.Header["Client-Cert"] = []string{":aW52ZW50ZWQ=:"}
			resp, err := client.Do(r)
			text := body(t, resp, err)
			assert.Equal(t, want, resp.StatusCode)
			assert.Equal(t, "HTTP/2.0", resp.Proto)
			if want == 200 {
				assert.Equal(t, ":"+base64.StdEncoding.EncodeToString(own.load(t).Certificate[0])+":", text)
			}
		}
	}
	// What the client sees of the refusal depends on whether it was still writing.
	_, err := ours.from(t).Get(address)
	assert.Error(t, err)
	p.journal.await(t, "client didn't provide a certificate")
	_, err = ours.from(t, others.client(t, "a")).Get(address)
	assert.Error(t, err)
	p.stop()
	assert.NoError(t, <-p.ended)
	close(p.ended)
	var clients []any
	for _, line := range j.lines {
		clients = append(clients, line["client"])
	}
	assert.Equal(t, []any{"CN=a,O=Example", "CN=a,O=Example", "CN=b,O=Example", "CN=b,O=Example"}, clients)
}

// TestClientsMayHaveCertificates has clients without one, which the policy refuses, and
// with a wrong one, which cannot connect.
func TestClientsMayHaveCertificates(t *testing.T) {
	ours, others := newSigner(t, "ours"), newSigner(t, "others")
	p := run(t, perClient, http.HandlerFunc(tells), func(c *Config) {
		c.TLS = TLS{Certificates: []KeyPair{ours.server(t).pair()}, Clients: ours.file, Optional: true}
	})
	address := "https" + strings.TrimPrefix(p.url, "http")
	resp, err := ours.from(t).Get(address)
	body(t, resp, err)
	assert.Equal(t, "missing", resp.Header.Get("X-Throttle-Reason"))
	resp, err = ours.from(t, ours.client(t, "a")).Get(address)
	assert.NotContains(t, body(t, resp, err), "Client-Cert", "it is sent on by request alone")
	assert.Equal(t, 200, resp.StatusCode)
	// The client sends a certificate of another authority although it was not asked for it.
	wrong := ours.from(t)
	other := others.client(t, "a").load(t)
	wrong.Transport.(*http.Transport).TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &other, nil }
	_, err = wrong.Get(address)
	assert.Error(t, err)
	p.journal.await(t, "signed by unknown authority")
}

// TestAuthoritiesAreReloaded replaces the authority of clients: clients of the old one
// cannot connect any more, nor resume a session.
func TestAuthoritiesAreReloaded(t *testing.T) {
	ours, old, next, j := newSigner(t, "ours"), newSigner(t, "old"), newSigner(t, "next"), newJournal()
	file := filepath.Join(t.TempDir(), "clients.pem")
	replace := func(from string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	replace(old.file)
	s, err := New(Config{
		File: "p.yaml", Source: []byte(open), Upstreams: []*url.URL{{Scheme: "http", Host: "127.0.0.1:1"}}, Log: slog.New(slog.NewJSONHandler(j, nil)),
		TLS: TLS{Certificates: []KeyPair{ours.server(t).pair()}, Clients: file},
	})
	require.NoError(t, err)
	address := fronted(t, s)
	// get opens a connection of its own and reports whether its session was resumed.
	get := func(client *http.Client) (resumed bool, err error) {
		defer client.CloseIdleConnections()
		resp, err := client.Get(address)
		if err != nil {
			return false, err
		}
		body(t, resp, nil)
		return resp.TLS.DidResume, nil
	}
	first, second := ours.from(t, old.client(t, "a")), ours.from(t, next.client(t, "b"))
	first.Transport.(*http.Transport).TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	_, err = get(first)
	require.NoError(t, err)
	resumed, err := get(first)
	require.NoError(t, err)
	assert.True(t, resumed)
	_, err = get(second)
	assert.Error(t, err)

	require.NoError(t, os.WriteFile(file, []byte("no PEM"), 0o600))
	for range 3 {
		s.tls.reload(false)
	}
	assert.Contains(t, j.await(t, "file of client authorities cannot be used")["error"], "no certificate in PEM")
	_, err = get(first)
	require.NoError(t, err, "the old ones are used on")

	replace(next.file)
	for range 2 {
		s.tls.reload(false)
	}
	j.await(t, "file of client authorities is used from now on")
	_, err = get(first)
	assert.Error(t, err)
	_, err = get(second)
	assert.NoError(t, err)
}

// TestCertificatesByName has a certificate for each name, and the first for all else.
func TestCertificatesByName(t *testing.T) {
	ours := newSigner(t, "ours")
	a, b := ours.server(t, "a.test"), ours.server(t, "*.b.test", "b.test")
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) { c.TLS.Certificates = []KeyPair{a.pair(), b.pair()} })
	for name, want := range map[string]pair{"a.test": a, "b.test": b, "x.b.test": b, "c.test": a, "": a} {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "http://"), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		require.NoError(t, err)
		assert.Equal(t, want.load(t).Certificate[0], conn.ConnectionState().PeerCertificates[0].Raw, name)
		conn.Close()
	}
}

func TestAdminWithTLS(t *testing.T) {
	ours := newSigner(t, "ours")
	pair := ours.server(t).pair()
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) { c.TLS.Admin = &pair })
	resp, err := ours.from(t).Get("https" + strings.TrimPrefix(p.admin, "http") + "/livez")
	assert.Equal(t, "ok\n", body(t, resp, err))
	resp, err = http.Get(p.url)
	body(t, resp, err)
	assert.Equal(t, 200, resp.StatusCode, "the other address has no TLS")
}

// TestCertificateForUpstreams has an upstream that asks for a certificate, and is
// probed, too.
func TestCertificateForUpstreams(t *testing.T) {
	ours := newSigner(t, "ours")
	own := ours.client(t, "sluice")
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.VerifiedChains[0][0].Subject.String())
	}))
	clients := x509.NewCertPool()
	clients.AddCert(ours.cert)
	up.TLS = &tls.Config{ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, Certificates: []tls.Certificate{ours.server(t).load(t)}}
	up.EnableHTTP2, up.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	up.StartTLS()
	defer up.Close()
	target, err := url.Parse(up.URL)
	require.NoError(t, err)
	for _, with := range []bool{true, false} {
		p := run(t, open, http.NotFoundHandler(), func(c *Config) {
			c.Upstreams, c.UpstreamCA = []*url.URL{target}, ours.file
			if with {
				pair := own.pair()
				c.TLS.Upstream = &pair
			}
		})
		resp, text := get(t, p.url)
		if with {
			assert.Equal(t, "CN=sluice,O=Example", text)
		} else {
			assert.Equal(t, 502, resp.StatusCode)
			p.journal.await(t, "no answer from the upstream")
		}
	}
}

func TestSubject(t *testing.T) {
	uri, err := url.Parse("spiffe://example.test/a")
	require.NoError(t, err)
	for want, c := range map[string]*x509.Certificate{
		"CN=a,O=b":                {Subject: pkix.Name{CommonName: "a", Organization: []string{"b"}}, URIs: []*url.URL{uri}},
		"spiffe://example.test/a": {URIs: []*url.URL{uri}, DNSNames: []string{"a.test"}},
		"a.test":                  {DNSNames: []string{"a.test", "b.test"}, EmailAddresses: []string{"a@b.test"}},
		"a@b.test":                {EmailAddresses: []string{"a@b.test"}},
		"":                        {},
	} {
		assert.Equal(t, want, subject(&http.Request{TLS: &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{c}}}}))
	}
	assert.Empty(t, subject(&http.Request{TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}}), "not verified")
	assert.Empty(t, subject(&http.Request{}))
}
