package cli

import (
	"net/url"
	"regexp"
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
	flags.StringArrayVar(&c.ACME.Hosts, "acme-host", nil,
		"get a certificate for this `NAME` from an authority by ACME, and accept its terms; several times for several")
	flags.StringVar(&c.ACME.Cache, "acme-cache", "", "the `FOLDER` where these certificates are kept")
	flags.StringVar(&c.ACME.Email, "acme-email", "", "an `ADDRESS` of mail for the authority; empty for none")
	flags.StringVar(&c.ACME.Directory, "acme-directory", "", "the `URL` of the authority; empty for Let's Encrypt")
	flags.StringVar(&c.Clients, "tls-client-ca", "", "a PEM `FILE` of the authorities that sign certificates of clients; read again when it changes")
	flags.StringVar(&f.clientAuth, "tls-client-auth", authRequire,
		"require a certificate of each client, or request one, which must be valid when it is sent")
	flags.BoolVar(&c.Forward, "forward-client-cert", false, "send the client's certificate to the upstream in Client-Cert (RFC 9440)")
	flags.StringVar(&f.admin.CertFile, "admin-tls-cert", "",
		"the PEM `FILE` of a certificate for TLS on the admin address; read again when it changes")
	flags.StringVar(&f.admin.KeyFile, "admin-tls-key", "", "the PEM `FILE` of its key")
	flags.StringVar(&f.upstream.CertFile, "upstream-cert", "",
		"the PEM `FILE` of a certificate for upstreams that ask for one; read again when it changes")
	flags.StringVar(&f.upstream.KeyFile, "upstream-key", "", "the PEM `FILE` of its key")
	for _, name := range []string{"acme-host", "acme-email", "acme-directory"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	must(cmd.MarkFlagDirname("acme-cache"))
	must(cmd.RegisterFlagCompletionFunc("tls-client-auth", cobra.FixedCompletions(clientAuths, cobra.ShellCompDirectiveNoFileComp)))
}

// check turns the flags into the configuration.
func (f *tlsFlags) check(cmd *cobra.Command, c *serve.Config) error {
	if err := checkACME(cmd, &c.TLS.ACME); err != nil {
		return err
	}
	switch {
	case len(f.certs) != len(f.keys):
		return usage(cmd, "--tls-cert and --tls-key need each other")
	case !slices.Contains(clientAuths, f.clientAuth):
		return usage(cmd, "--tls-client-auth is %q; allowed: %s", f.clientAuth, strings.Join(clientAuths, ", "))
	case c.TLS.Clients != "" && len(f.certs) == 0 && len(c.TLS.ACME.Hosts) == 0:
		return usage(cmd, "--tls-client-ca needs --tls-cert or --acme-host")
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

// dnsName is a name that an authority of ACME can give a certificate for.
var dnsName = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+$`)

func checkACME(cmd *cobra.Command, c *serve.ACME) error {
	for i, host := range c.Hosts {
		if c.Hosts[i] = strings.ToLower(host); !dnsName.MatchString(c.Hosts[i]) {
			return usage(cmd, "--acme-host is %q; allowed: a name, as in www.example.com", host)
		}
	}
	if len(c.Hosts) > 0 && c.Cache == "" {
		return usage(cmd, "--acme-host needs --acme-cache, or each start asks the authority, which bounds that")
	}
	for _, name := range []string{"acme-cache", "acme-email", "acme-directory"} {
		if len(c.Hosts) == 0 && cmd.Flags().Changed(name) {
			return usage(cmd, "--%s needs --acme-host", name)
		}
	}
	if c.Directory == "" {
		return nil
	}
	if u, err := url.Parse(c.Directory); err != nil || u.Scheme != "https" || u.Host == "" {
		return usage(cmd, "--acme-directory is %q; allowed: an https URL", c.Directory)
	}
	return nil
}
