package cli

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/proxywasm"
	"github.com/sluice-go/sluice/proxywasm/config"
)

// envoyFlags are the flags of envoy.
type envoyFlags struct {
	bootstrap bool
	upstream  string
	listen    string
	admin     string
	hops      int
	wasm      string
	writeWasm string
	trace     string
	worker    uint64
}

func newEnvoy(env *Env) *cobra.Command {
	var f envoyFlags
	cmd := &cobra.Command{
		Use:   "envoy [flags] FILE",
		Short: "Write the configuration of the filter for Envoy",
		Long: `envoy checks a policy document for the filter that performs it in Envoy, and prints
it in JSON: the text of the plugin's configuration. FILE - is standard input. A step
that a proxy does not perform is an error that says what of Envoy does.

With --bootstrap it prints a whole configuration of Envoy in YAML around it: a
listener, the filter, and the upstream. The address of a client, which per: ip and
conditions take, is that of its connection; --trusted-hops says how many proxies
stand in between. With --write-wasm it also writes the module
of the filter, which is part of this program.

With --trace it prints the trace that the filter has written to a log of Envoy
under proxy: {trace: record}, which replay, diff and explain read.`,
		Example: `  sluice envoy api.yaml > sluice.json
  sluice envoy --bootstrap --upstream http://127.0.0.1:9000 --write-wasm sluice.wasm api.yaml > envoy.yaml
  envoy --config-path envoy.yaml
  sluice envoy --trace envoy.log api.yaml > trace.ndjson && sluice replay trace.ndjson`,
		Args: withArgs(func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("envoy needs one FILE, found %d", len(args))
			}
			return nil
		}),
		ValidArgsFunction: documents,
		RunE:              func(cmd *cobra.Command, args []string) error { return env.envoy(cmd, &f, args[0]) },
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.bootstrap, "bootstrap", "b", false, "print a whole configuration of Envoy")
	flags.StringVarP(&f.upstream, "upstream", "u", "",
		"the `URL` where requests go, of http, https or h2c, without a path; needed by --bootstrap")
	flags.StringVarP(&f.listen, "listen", "l", "127.0.0.1:8080", "the `ADDRESS` at which Envoy listens: an IP address and a port")
	flags.StringVar(&f.admin, "admin", "127.0.0.1:9901", "the `ADDRESS` of Envoy's admin interface; empty for none")
	flags.IntVar(&f.hops, "trusted-hops", 0, "how many `PROXIES` in front of Envoy each add an address to X-Forwarded-For, 0 to 100")
	flags.StringVar(&f.wasm, "wasm", "", "the `PATH` of the filter's module where Envoy runs; that of --write-wasm, else sluice.wasm")
	flags.StringVar(&f.writeWasm, "write-wasm", "", "write the module of the filter to this `PATH`")
	flags.StringVar(&f.trace, "trace", "", "print the trace in this `LOG` of Envoy; - is standard input")
	flags.Uint64Var(&f.worker, "worker", 0, "the `NUMBER` of the recorder whose lines --trace prints, as the log has it; 0 for all")
	for _, name := range []string{"upstream", "listen", "admin", "trusted-hops", "worker"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	return cmd
}

// envoy prints the configuration of the filter, or one of Envoy with it.
func (e *Env) envoy(cmd *cobra.Command, f *envoyFlags, file string) error {
	var b envoyBootstrap
	if f.trace != "" {
		for _, name := range []string{"bootstrap", "upstream", "listen", "admin", "trusted-hops", "wasm", "write-wasm"} {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s does not go with --trace", name)
			}
		}
		return e.envoyTrace(file, f.trace, f.worker)
	}
	if cmd.Flags().Changed("worker") {
		return usage(cmd, "--worker needs --trace")
	}
	if f.bootstrap {
		var err error
		if b, err = f.check(cmd); err != nil {
			return err
		}
	} else {
		for _, name := range []string{"upstream", "listen", "admin", "trusted-hops", "wasm"} {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s needs --bootstrap", name)
			}
		}
	}
	text, err := e.pluginConfiguration(file, f.hops > 0)
	if err != nil {
		return err
	}
	if f.writeWasm != "" {
		if err := os.WriteFile(f.writeWasm, proxywasm.Module, 0o644); err != nil {
			return fail(ExitFailed, fmt.Errorf("cannot write %s: %w", f.writeWasm, cause(err)))
		}
	}
	if f.bootstrap {
		b.Configuration = text
		text = b.yaml()
	}
	return e.print(text)
}

// pluginConfiguration returns a document as the filter reads it. hops says that Envoy counts
// the proxies in front of it.
func (e *Env) pluginConfiguration(file string, hops bool) ([]byte, error) {
	src, err := e.source(file)
	if err != nil {
		return nil, err
	}
	doc, err := policy.Parse(fileOf(file), src)
	if err != nil {
		return nil, e.wrong(err)
	}
	if errs := config.Check(fileOf(file), doc); len(errs) > 0 {
		return nil, e.wrong(errs)
	}
	if hops && len(doc.Proxy.TrustedProxies) > 0 {
		return nil, fail(ExitBad, errors.New("--trusted-hops and proxy.trusted_proxies of the document both say whose X-Forwarded-For is believed; allowed: one of them"))
	}
	return policy.ToJSON(fileOf(file), src)
}

// envoyBootstrap is what the template of the configuration has.
type envoyBootstrap struct {
	Listen, Admin *envoyAddress
	Upstream      envoyAddress
	TLS, HTTP2    bool
	TrustedHops   int
	Module        string
	Configuration []byte
}

type envoyAddress struct {
	Host string
	Port int
}

// UpstreamIP reports whether the upstream has an address in place of a name.
func (b *envoyBootstrap) UpstreamIP() bool { return net.ParseIP(b.Upstream.Host) != nil }

// check reads the flags of --bootstrap.
func (f *envoyFlags) check(cmd *cobra.Command) (b envoyBootstrap, err error) {
	if b.Upstream, err = f.upstreamAddress(&b); err != nil {
		return b, usage(cmd, "--upstream is %q; %v", f.upstream, err)
	}
	if b.Listen, err = ipAddress(f.listen); err != nil {
		return b, usage(cmd, "--listen is %q; %v", f.listen, err)
	}
	if f.admin != "" {
		if b.Admin, err = ipAddress(f.admin); err != nil {
			return b, usage(cmd, "--admin is %q; %v", f.admin, err)
		}
	}
	if b.TrustedHops = f.hops; f.hops < 0 || f.hops > 100 {
		return b, usage(cmd, "--trusted-hops is %d; allowed: 0 to 100", f.hops)
	}
	b.Module = cmp.Or(f.wasm, f.writeWasm, "sluice.wasm")
	return b, nil
}

func (f *envoyFlags) upstreamAddress(b *envoyBootstrap) (envoyAddress, error) {
	allowed := errors.New("allowed: a URL of http, https or h2c without a path, as in http://127.0.0.1:9000")
	u, err := url.Parse(f.upstream)
	if err != nil || !slices.Contains([]string{"http", "https", "h2c"}, u.Scheme) || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return envoyAddress{}, allowed
	}
	b.TLS, b.HTTP2 = u.Scheme == "https", u.Scheme == "h2c"
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[b.TLS]
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return envoyAddress{}, allowed
	}
	return envoyAddress{u.Hostname(), int(number)}, nil
}

// ipAddress reads an address at which Envoy listens.
func ipAddress(text string) (*envoyAddress, error) {
	host, port, err := net.SplitHostPort(text)
	number, wrong := strconv.ParseUint(port, 10, 16)
	if err != nil || wrong != nil || net.ParseIP(host) == nil {
		return nil, errors.New("allowed: an IP address and a port, as in 0.0.0.0:8080")
	}
	return &envoyAddress{host, int(number)}, nil
}

//go:embed envoy.yaml.tmpl
var envoyTemplate string

// yaml returns the configuration.
func (b *envoyBootstrap) yaml() []byte {
	var out bytes.Buffer
	must(template.Must(template.New("envoy").Funcs(template.FuncMap{
		// A string of JSON is one of YAML.
		"quote": func(text string) (string, error) {
			quoted, err := json.Marshal(text)
			return string(quoted), err
		},
		"indent": func(width int, text []byte) string {
			margin := strings.Repeat(" ", width)
			return margin + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n"+margin)
		},
	}).Parse(envoyTemplate)).Execute(&out, b))
	return out.Bytes()
}
