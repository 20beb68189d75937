package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/acme"
)

// TestCertificatesOfAnAuthority has the certificate of a name in the folder of an earlier
// start, and an authority that cannot be reached. tools/conformance/acme.sh has one that
// can.
func TestCertificatesOfAnAuthority(t *testing.T) {
	ours, folder := newSigner(t, "ours"), t.TempDir()
	issued := ours.issue(t, func(c *x509.Certificate) {
		c.DNSNames, c.NotAfter = []string{"a.test"}, time.Now().Add(90*24*time.Hour)
	})
	var text bytes.Buffer
	for _, file := range []string{issued.key, issued.cert} {
		part, err := os.ReadFile(file)
		require.NoError(t, err)
		text.Write(part)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.test"), text.Bytes(), 0o600))
	other := ours.server(t, "b.test")
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) {
		c.TLS = TLS{
			ACME:    ACME{Hosts: []string{"a.test"}, Cache: folder, Directory: "https://127.0.0.1:1"},
			Clients: ours.file, Certificates: []KeyPair{other.pair()},
		}
	})
	own := ours.client(t, "a").load(t)
	dial := func(name string, protocols ...string) (*tls.Conn, error) {
		return tls.Dial("tcp", strings.TrimPrefix(p.url, "http://"), &tls.Config{
			ServerName: name, InsecureSkipVerify: true, Certificates: []tls.Certificate{own}, NextProtos: protocols,
		})
	}
	for name, want := range map[string]pair{"a.test": issued, "A.test": issued, "b.test": other, "c.test": other} {
		conn, err := dial(name, "h2")
		require.NoError(t, err)
		assert.Equal(t, want.load(t).Certificate[0], conn.ConnectionState().PeerCertificates[0].Raw, name)
		assert.Equal(t, "h2", conn.ConnectionState().NegotiatedProtocol)
		conn.Close()
	}
	_, err := dial("a.test", acme.ALPNProto)
	assert.Error(t, err, "there is no challenge")
	p.journal.await(t, "no token cert")
}

// TestNameWithoutCertificate has a client ask for a name that the proxy gets no
// certificate for.
func TestNameWithoutCertificate(t *testing.T) {
	p := run(t, open, http.HandlerFunc(tells), func(c *Config) {
		c.TLS.ACME = ACME{Hosts: []string{"a.test"}, Cache: t.TempDir(), Directory: "https://127.0.0.1:1"}
	})
	_, err := tls.Dial("tcp", strings.TrimPrefix(p.url, "http://"), &tls.Config{ServerName: "b.test", InsecureSkipVerify: true})
	assert.Error(t, err)
	p.journal.await(t, `there is no certificate for the name "b.test"`)
}
