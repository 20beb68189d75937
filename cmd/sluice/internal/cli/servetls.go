package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
)

// tlsFlags are the flags of serve that name certificates.
type tlsFlags struct {
	certs, keys     []string
	clientAuth      string
	admin, upstream serve.KeyPair
}

// Whether clients must send a certificate.
const (
	authRequire = "require"
	authRequest = "request"
)

var clientAuths = []string{authRequire, authRequest}

func (f *tlsFlags) add(cmd *cobra.Command, c *serve.TLS) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.certs, "tls-cert", nil, "the PEM `FILE` of a certificate for TLS; several times for several names; read again when it changes")
	flags.StringArrayVar(&f.keys, "tls-key", nil, "the PEM `FILE` of its key, in the order of --tls-cert")
	flags.StringVar(&c.Clients, "tls-client-ca", "", "a PEM `FILE` of the authorities that sign certificates of clients; read again when it changes")
	flags.StringVar(&f.clientAuth, "tls-client-auth", authRequire, "require a certificate of each client, or request one, which must be valid when it is sent")
	flags.BoolVar(&c.Forward, "forward-client-cert", false, "send the client's certificate to the upstream in Client-Cert (RFC 9440)")
	flags.StringVar(&f.admin.CertFile, "admin-tls-cert", "", "the PEM `FILE` of a certificate for TLS on the admin address; read again when it changes")
	flags.StringVar(&f.admin.KeyFile, "admin-tls-key", "", "the PEM `FILE` of its key")
	flags.StringVar(&f.upstream.CertFile, "upstream-cert", "", "the PEM `FILE` of a certificate for upstreams that ask for one; read again when it changes")
	flags.StringVar(&f.upstream.KeyFile, "upstream-key", "", "the PEM `FILE` of its key")
	must(cmd.RegisterFlagCompletionFunc("tls-client-auth", cobra.FixedCompletions(clientAuths, cobra.ShellCompDirectiveNoFileComp)))
}

// check turns the flags into the configuration.
func (f *tlsFlags) check(cmd *cobra.Command, c *serve.Config) error {
	switch {
	case len(f.certs) != len(f.keys):
		return usage(cmd, "--tls-cert and --tls-key need each other")
	case !slices.Contains(clientAuths, f.clientAuth):
		return usage(cmd, "--tls-client-auth is %q; allowed: %s", f.clientAuth, strings.Join(clientAuths, ", "))
	case c.TLS.Clients != "" && len(f.certs) == 0:
		return usage(cmd, "--tls-client-ca needs --tls-cert")
	case c.TLS.Clients == "" && cmd.Flags().Changed("tls-client-auth"):
		return usage(cmd, "--tls-client-auth needs --tls-client-ca")
	case c.TLS.Clients == "" && c.TLS.Forward:
		return usage(cmd, "--forward-client-cert needs --tls-client-ca")
	case c.Admin == "" && f.admin.CertFile != "":
		return usage(cmd, "--admin-tls-cert needs --admin")
	}
	c.TLS.Certificates = nil
	for i := range f.certs {
		c.TLS.Certificates = append(c.TLS.Certificates, serve.KeyPair{CertFile: f.certs[i], KeyFile: f.keys[i]})
	}
	c.TLS.Optional = f.clientAuth == authRequest
	for _, one := range []struct {
		flag string
		pair *serve.KeyPair
		to   **serve.KeyPair
	}{{"admin-tls", &f.admin, &c.TLS.Admin}, {"upstream", &f.upstream, &c.TLS.Upstream}} {
		if (one.pair.CertFile == "") != (one.pair.KeyFile == "") {
			return usage(cmd, "--%s-cert and --%s-key need each other", one.flag, one.flag)
		}
		if one.pair.CertFile != "" {
			*one.to = one.pair
		}
	}
	return nil
}
