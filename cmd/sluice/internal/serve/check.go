package serve

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// Check returns the errors with which a server of a configuration could not begin, except
// files of the policy document: of certificates, tokens, the webhook and addresses. It begins
// nothing.
func Check(c Config) (errs []error) {
	c.Log = slog.New(slog.DiscardHandler)
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	registry := prometheus.NewRegistry()
	files, err := newTLSFiles(&c.TLS, c.Log, registry)
	add(err)
	if err == nil {
		_, err = files.toUpstreams(c.UpstreamCA)
		add(err)
	}
	_, err = newTokens(c.AdminTokens, c.AdminToken, c.Log)
	add(err)
	_, err = newAlerts(&c, registry)
	add(err)
	for _, address := range []string{c.Listen, c.Admin} {
		if address == "" {
			continue
		}
		l, err := listen(address)
		add(err)
		if err == nil {
			add(l.Close())
		}
	}
	return errs
}
