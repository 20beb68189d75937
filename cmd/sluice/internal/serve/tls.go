package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificates has the certificate of the proxy, which is read again when its files
// change. Connections that are open keep theirs.
type certificates struct {
	certFile, keyFile string
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]
	files             *settled[[2]glance]
}

// newCertificates reads a pair of files.
func newCertificates(certFile, keyFile string, log *slog.Logger, registry prometheus.Registerer) (*certificates, error) {
	c := &certificates{certFile: certFile, keyFile: keyFile, log: log}
	c.files = newSettled(c.look())
	if err := c.read(); err != nil {
		return nil, err
	}
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "sluice", Name: "tls_certificate_not_after_timestamp_seconds", Help: "When the certificate of the proxy expires.",
	}, func() float64 { return float64(c.notAfter().Unix()) }))
	return c, nil
}

func (c *certificates) look() [2]glance { return [2]glance{look(c.certFile), look(c.keyFile)} }

func (c *certificates) read() error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&pair)
	return nil
}

// reload reads the files if they changed or if it was asked to. A pair that cannot be
// used is logged once, and the old one is used on. c may be nil.
func (c *certificates) reload(asked bool) {
	if c == nil {
		return
	}
	if now := c.look(); asked {
		c.files.taken(now)
	} else if !c.files.changed(now) {
		return
	}
	if err := c.read(); err != nil {
		c.log.Error("the certificate cannot be used; the old one is used on", "error", err)
		return
	}
	c.log.Info("the certificate is used from now on", "certificate", c.certFile, "not_after", c.notAfter())
}

// notAfter is when the certificate expires.
func (c *certificates) notAfter() time.Time { return c.current.Load().Leaf.NotAfter }

// config returns the settings of TLS. The cipher suites and curves are those of
// crypto/tls, which follow what is known of them.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}
