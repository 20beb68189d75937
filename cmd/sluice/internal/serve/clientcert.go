package serve

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
)

// clientCert is the header by which the upstream learns the certificate of a client
// (RFC 9440).
const clientCert = "Client-Cert"

// verified returns the certificate that the client of a request has shown and that one of
// our authorities has signed, nil for none.
func verified(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}

// subject names the client of a request by its certificate: its subject as RFC 2253 writes
// it, or where that is empty the first of its URIs (as SPIFFE has them), DNS names and
// addresses of mail. Empty: there is no certificate.
func subject(r *http.Request) string {
	c := verified(r)
	if c == nil {
		return ""
	}
	if name := c.Subject.String(); name != "" {
		return name
	}
	switch {
	case len(c.URIs) > 0:
		return c.URIs[0].String()
	case len(c.DNSNames) > 0:
		return c.DNSNames[0]
	case len(c.EmailAddresses) > 0:
		return c.EmailAddresses[0]
	}
	return ""
}

// tellCertificate sends the certificate of the client on, in place of one that the client
// invented. The one that a trusted hop sent is passed on.
func tellCertificate(in *http.Request, out http.Header) {
	if c := verified(in); c != nil && out[clientCert] == nil {
		out[clientCert] = []string{":" + base64.StdEncoding.EncodeToString(c.Raw) + ":"}
	}
}
