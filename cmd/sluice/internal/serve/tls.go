package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice-go/sluice/internal/filewatch"
)

// KeyPair names the PEM files of a certificate, with those between it and the root
// behind it, and of its key. They are read again when they change.
type KeyPair struct{ CertFile, KeyFile string }

// TLS says which certificates the proxy shows, and which it asks of clients.
type TLS struct {
	// Certificates are the proxy's own, for TLS on Config.Listen. A connection gets the
	// first one that is valid for the name that its client asks for (SNI) and for the
	// algorithms that the client knows, else the first of all. None: no TLS.
	Certificates []KeyPair
	// ACME has the names whose certificates come from an authority.
	ACME ACME
	// Clients is a PEM file of the authorities that sign the certificates of clients. It
	// is read again when it changes. Empty: clients are asked for none.
	Clients string
	// Optional admits clients without a certificate. One that is sent has to be valid.
	Optional bool
	// Forward sends the certificate of a client to the upstream (RFC 9440).
	Forward bool
	// Admin is the certificate of Config.Admin. None: no TLS.
	Admin *KeyPair
	// Upstream is the certificate that is sent to upstreams that ask for one. None: none.
	Upstream *KeyPair
}

// tlsFiles has what the proxy has read from files of TLS.
type tlsFiles struct {
	front    []*certificate
	issuer   *issuer      // nil: none comes from an authority
	clients  *authorities // nil: clients are asked for no certificate
	admin    *certificate // nil: no TLS on the admin address
	upstream *certificate // nil: none is sent
	all      []*watched
	log      *slog.Logger
}

// newTLSFiles reads the files of a configuration.
func newTLSFiles(c *TLS, log *slog.Logger, registry prometheus.Registerer) (*tlsFiles, error) {
	f := &tlsFiles{log: log, issuer: newIssuer(&c.ACME)}
	expiry := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: "sluice", Name: "tls_certificate_not_after_timestamp_seconds", Help: "When a certificate of the proxy expires.",
	}, []string{"file"})
	add := func(pair *KeyPair) (*certificate, error) {
		if pair == nil {
			return nil, nil
		}
		one := &certificate{KeyPair: *pair, expiry: expiry.WithLabelValues(pair.CertFile), log: log}
		if err := f.watch("certificate", one.read, pair.CertFile, pair.KeyFile); err != nil {
			return nil, err
		}
		return one, nil
	}
	for _, pair := range c.Certificates {
		one, err := add(&pair)
		if err != nil {
			return nil, err
		}
		f.front = append(f.front, one)
	}
	var err error
	if f.admin, err = add(c.Admin); err != nil {
		return nil, err
	}
	if f.upstream, err = add(c.Upstream); err != nil {
		return nil, err
	}
	if len(f.all) > 0 {
		registry.MustRegister(expiry)
	}
	if c.Clients != "" {
		f.clients = &authorities{file: c.Clients, base: f.base(), optional: c.Optional}
		if err := f.watch("file of client authorities", f.clients.read, c.Clients, c.Clients); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// watch reads files for the first time.
func (f *tlsFiles) watch(what string, read func() error, files ...string) error {
	w := &watched{what: what, files: [2]string(files), read: read}
	w.seen = filewatch.NewSettled(w.look())
	f.all = append(f.all, w)
	return read()
}

// reload reads the files that changed, or all if it was asked to. What cannot be used is
// logged once, and the old content is used on.
func (f *tlsFiles) reload(asked bool) {
	for _, w := range f.all {
		if now := w.look(); asked {
			w.seen.Taken(now)
		} else if !w.seen.Changed(now) {
			continue
		}
		if err := w.read(); err != nil {
			f.log.Error("the "+w.what+" cannot be used; the old one is used on", "file", w.files[0], "error", err)
			continue
		}
		f.log.Info("the "+w.what+" is used from now on", "file", w.files[0])
	}
}

// watched are one or two files that are read again when they change.
type watched struct {
	what  string // for the log
	files [2]string
	read  func() error
	seen  *filewatch.Settled[[2]filewatch.Glance]
}

func (w *watched) look() [2]filewatch.Glance {
	return [2]filewatch.Glance{filewatch.Look(w.files[0]), filewatch.Look(w.files[1])}
}

// certificate is one of the proxy. Connections that are open keep the one that they
// began with.
type certificate struct {
	KeyPair
	current atomic.Pointer[tls.Certificate]
	expiry  prometheus.Gauge
	log     *slog.Logger
}

func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.CertFile, c.KeyFile, err)
	}
	c.current.Store(&pair)
	c.expiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	if time.Now().After(pair.Leaf.NotAfter) {
		c.log.Warn("the certificate has expired", "file", c.CertFile, "not_after", pair.Leaf.NotAfter)
	}
	return nil
}

// config returns settings of TLS with this certificate alone, for HTTP/1.1.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// on reports whether there is TLS in front.
func (f *tlsFiles) on() bool { return len(f.front) > 0 || f.issuer != nil }

// choose returns the certificate of the issuer for its names, else the first of the files
// that fits what a client says, else the first.
func (f *tlsFiles) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if f.issuer.has(hello) {
		return f.issuer.manager.GetCertificate(hello)
	}
	if len(f.front) == 0 {
		return nil, fmt.Errorf("there is no certificate for the name %q", hello.ServerName)
	}
	if len(f.front) > 1 {
		for _, c := range f.front {
			if one := c.current.Load(); hello.SupportsCertificate(one) == nil {
				return one, nil
			}
		}
	}
	return f.front[0].current.Load(), nil
}

// base returns the settings of TLS in front, without certificates of clients. The cipher
// suites and curves come from crypto/tls, which follows what is known of them.
func (f *tlsFiles) base() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: f.choose, NextProtos: f.issuer.protocols()}
}

// config returns the settings of TLS in front, nil for no TLS.
func (f *tlsFiles) config() *tls.Config {
	if !f.on() {
		return nil
	}
	config := f.base()
	if f.clients != nil {
		config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if f.issuer.challenged(hello) {
				return nil, nil // the settings of above: an authority of ACME has no certificate of a client
			}
			return f.clients.current.Load(), nil
		}
	}
	return config
}

// authorities sign the certificates of clients.
type authorities struct {
	file     string
	base     *tls.Config
	optional bool
	current  atomic.Pointer[tls.Config]
}

func (a *authorities) read() error {
	pool := x509.NewCertPool()
	if err := addPEM(pool, a.file); err != nil {
		return fmt.Errorf("the authorities of clients: %w", err)
	}
	config := a.base.Clone()
	config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	if a.optional {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	a.current.Store(config)
	return nil
}

// addPEM adds the certificates of a file to a pool.
func addPEM(pool *x509.CertPool, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s has no certificate in PEM", file)
	}
	return nil
}

// toUpstreams returns the settings of TLS to upstreams: the authorities of a file beside
// the authorities of the system, and the certificate of the proxy.
func (f *tlsFiles) toUpstreams(file string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if file != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool() // a system without roots, as in an empty container
		}
		if err := addPEM(roots, file); err != nil {
			return nil, fmt.Errorf("the certificates of upstreams: %w", err)
		}
		config.RootCAs = roots
	}
	if f.upstream != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return f.upstream.current.Load(), nil }
	}
	return config, nil
}
