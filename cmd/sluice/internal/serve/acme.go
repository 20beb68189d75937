package serve

import (
	"crypto/tls"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACME says which certificates the proxy gets from an authority by itself (RFC 8555). It
// proves that a name is its own by TLS-ALPN (RFC 8737), on the address of the proxy,
// which the authority reaches as port 443 of the name.
type ACME struct {
	// Hosts are the names, in lower case. None: no ACME. They come before the names of
	// files.
	Hosts []string
	// Cache is the folder of the account's key and of the certificates. It is made where it
	// does not exist.
	Cache string
	// Email is where the authority may write to. Empty: none.
	Email string
	// Directory is the URL of the authority. Empty: the URL of Let's Encrypt.
	Directory string
}

// issuer gets certificates by ACME and renews them, nil for none. Its methods may be
// called on nil.
type issuer struct {
	manager autocert.Manager
	hosts   []string
}

func newIssuer(c *ACME) *issuer {
	if len(c.Hosts) == 0 {
		return nil
	}
	return &issuer{hosts: c.Hosts, manager: autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.Cache), HostPolicy: autocert.HostWhitelist(c.Hosts...), Email: c.Email,
		Client: &acme.Client{DirectoryURL: c.Directory, UserAgent: "sluice"},
	}}
}

// has reports whether a connection is to get its certificate from the issuer.
func (i *issuer) has(hello *tls.ClientHelloInfo) bool {
	return i != nil && (i.challenged(hello) || slices.Contains(i.hosts, strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))))
}

// challenged reports whether a connection comes from an authority that verifies a name. It
// carries no requests.
func (i *issuer) challenged(hello *tls.ClientHelloInfo) bool {
	return i != nil && slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto})
}

// protocols has the protocols of ALPN in front.
func (i *issuer) protocols() []string {
	list := []string{"h2", "http/1.1"}
	if i != nil {
		list = append(list, acme.ALPNProto)
	}
	return list
}
