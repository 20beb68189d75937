package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
	"github.com/sluice-go/sluice/policy"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	policy            string
	logLevel, logForm string
	trusted, proxied  []string
	upgrades          []string
	access            string
	connections       connectionFlags
	tls               tlsFlags
	trace             traceFlags
	operate           operateFlags
	only              bool // check, and serve nothing
	config            serve.Config
}

var (
	logLevels = []string{"debug", "info", "warn", "error"}
	logForms  = []string{"text", "json"}
)

func newServe(env *Env) *cobra.Command { return serveCommand(env, &serveFlags{}) }

func serveCommand(env *Env, f *serveFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --policy FILE --upstream URL [flags]",
		Short: "Guard a service with a policy, as a reverse proxy",
		Long: `serve is a reverse proxy that guards a service with a policy document and no code:
the routes of the document say which policy a request passes, and http.default
what a request gets that no route matches: a policy, a refusal with 403 (deny), or
passage without a policy (pass, the default).

Routes are compared with the clean form of the path: percent-decoded once, without
dot segments and double slashes. The upstream gets that form; http.paths changes
it. A path that servers read in different ways, and a header, cookie or query
parameter that is a key and is sent with two values, are answered with 400.

A refusal is answered with 429 (a limit) or 503 (all else), with Retry-After,
RateLimit, RateLimit-Policy, X-Throttle-Reason and a problem document; a timeout
by the policy with 504; an upstream that gives no answer with 502; a client that
sends its body too slowly with 408. Idempotent requests are repeated as the policy
says. Streams, server-sent events and websockets pass through and keep their place
in a bulkhead until they end, or until no byte passes for http.stream_idle.

With --tls-cert and --tls-key clients speak TLS, and HTTP/2 or HTTP/1.1 by ALPN; without,
HTTP/1.1, or HTTP/2 by prior knowledge. With --tls-client-ca clients show certificates,
whose subject is the attribute key of the policy. Of several upstreams each attempt goes to the
less loaded of two that are drawn at random; one that fails is ejected for a time, and
a request that could not be sent to one goes to another.

With --trace the calls of all policies are recorded for sluice replay, diff and
explain, at a bounded cost; POST /trace/stop and /trace/start of the admin address
stop and start it.

With --state what the policies know (limits and blocks of keys, breakers, changes by
hand) outlives the process: it is written each --state-every and at the end, and read at
the start.

With --check nothing is served: all errors of the flags, the document, certificates,
tokens and addresses, a port in use included, are printed, and the exit code is 2, or 0
for none.

The admin address has /metrics for Prometheus, /livez and /readyz. With
--admin-token-file it also has /api/ for sluice ctl and a live page, /ui. The document is
read again when it changes and on SIGHUP; what the steps know stays. A document
with errors is refused, line by line in the log, and the old one stays active.
SIGTERM and SIGINT end it: /readyz is 503 from then on, requests are still taken for
--drain-delay, those under way may finish for as long as --drain says, and a second
signal ends it at once.`,
		Example: `  sluice serve --policy api.yaml --upstream http://127.0.0.1:3000
  sluice serve --policy api.yaml --upstream https://api.example.com --listen :8080 --admin :8081
  sluice serve --policy api.yaml --upstream http://app-1:3000 --upstream http://app-2:3000 --probe-path /healthz
  sluice serve --policy api.yaml --upstream h2c://grpc:50051 --listen :443 --tls-cert tls.crt --tls-key tls.key
  sluice serve --policy api.yaml --upstream http://app:3000 --trusted-proxies 10.0.0.0/8 --log-format json`,
		Args: withArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			errs := f.check(cmd)
			switch {
			case f.only:
				return env.checkServe(f, errs)
			case len(errs) > 0:
				return errs[0]
			}
			return env.serve(cmd.Context(), f)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.policy, "policy", "p", "", "the policy document, YAML or JSON")
	flags.BoolVar(&f.only, "check", false, "check the flags, the document, certificates, tokens and addresses, print all errors, and serve nothing")
	flags.StringVarP(&f.config.Listen, "listen", "l", "127.0.0.1:8080", "the `ADDRESS` of the proxy")
	flags.StringVar(&f.config.Admin, "admin", "127.0.0.1:8081", "the `ADDRESS` of /metrics, /livez, /readyz, /trace, /api/ and /ui; empty for none of them")
	flags.DurationVar(&f.config.DrainDelay, "drain-delay", 0, "how long requests are still taken after SIGTERM, while /readyz is 503")
	flags.DurationVar(&f.config.Drain, "drain", 30*time.Second, "how long requests may continue after that")
	flags.StringSliceVar(&f.trusted, "trusted-proxies", nil, "`PREFIXES` of hops whose X-Forwarded-* and Forwarded are believed, as in 10.0.0.0/8")
	flags.StringSliceVar(&f.proxied, "proxy-protocol", nil, "`PREFIXES` of peers whose connections begin with a PROXY protocol header (v1 or v2)")
	flags.IntVar(&f.config.IPv6Prefix, "ipv6-prefix", nethttp.DefaultIPv6Prefix, "how many `BITS` of an IPv6 address are the key of per: ip")
	flags.StringSliceVar(&f.upgrades, "upgrade", []string{"websocket"}, "`PROTOCOLS` to which clients may upgrade a connection, out of reach of the policy; empty for none")
	flags.BoolVar(&f.config.PreserveHost, "preserve-host", false, "send the client's Host to the upstream, not the upstream's own")
	flags.StringVar(&f.config.DeadlineHeader, "deadline-header", "", "the header `FIELD` that says in milliseconds how long a request may take, as in "+nethttp.DeadlineHeader+"; requests of gRPC have grpc-timeout; empty for none")
	flags.DurationVar(&f.config.DeadlineMax, "deadline-max", 0, "the longest time in that field; 0 for as long as it says")
	flags.StringVar(&f.config.PriorityHeader, "priority-header", "", "the header `FIELD` with the priority of a request, which --trusted-proxies alone may set; empty for none")
	flags.BoolVar(&f.config.WholeAnswers, "whole-answers", false, "votes and timeouts end with the body of an answer, not with its headers")
	flags.BoolVar(&f.config.Legacy, "legacy-headers", false, "add X-RateLimit-Limit, -Remaining and -Reset to answers")
	flags.StringVar(&f.access, "access-log", "", "the `FILE` of a line of JSON for each request, - for standard output; empty for none")
	flags.IntVar(&f.config.AccessSample, "access-sample", 1, "write one of `N` requests with a status below 400, and all others")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug (a line for each request), info, warn or error")
	flags.StringVar(&f.logForm, "log-format", "text", "text or json")
	f.connections.add(cmd, &f.config)
	f.tls.add(cmd, &f.config.TLS)
	f.trace.add(cmd, &f.config)
	f.operate.add(cmd, &f.config)
	addState(cmd, &f.config)
	must(cmd.RegisterFlagCompletionFunc("policy", documents))
	for _, name := range []string{"listen", "admin", "drain-delay", "drain", "trusted-proxies", "proxy-protocol", "ipv6-prefix", "upgrade", "deadline-header", "deadline-max", "priority-header", "access-sample"} {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	must(cmd.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions(logForms, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// check turns the flags into the configuration. It returns an error for each group of
// flags that has one.
func (f *serveFlags) check(cmd *cobra.Command) (errs []error) {
	for _, part := range []func(*cobra.Command) error{
		f.checkOwn,
		func(cmd *cobra.Command) error { return f.connections.check(cmd, &f.config) },
		func(cmd *cobra.Command) error { return f.tls.check(cmd, &f.config) },
		func(cmd *cobra.Command) error { return f.trace.check(cmd, &f.config) },
		func(cmd *cobra.Command) error { return f.operate.check(cmd, &f.config) },
		func(cmd *cobra.Command) error { return checkState(cmd, &f.config) },
		f.checkAddresses,
	} {
		if err := part(cmd); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// checkOwn checks the flags that are in no group.
func (f *serveFlags) checkOwn(cmd *cobra.Command) error {
	c := &f.config
	switch {
	case f.policy == "":
		return usage(cmd, "serve needs --policy FILE")
	case f.policy == stdinName:
		return usage(cmd, "serve needs a policy file that it can read again, not standard input")
	case len(f.connections.upstreams) == 0:
		return usage(cmd, "serve needs --upstream URL")
	case !slices.Contains(logLevels, f.logLevel):
		return usage(cmd, "there is no log level %q; there is %s", f.logLevel, strings.Join(logLevels, ", "))
	case !slices.Contains(logForms, f.logForm):
		return usage(cmd, "there is no log format %q; there is %s", f.logForm, strings.Join(logForms, ", "))
	case c.Drain < 0:
		return usage(cmd, "--drain is %s; allowed: 0 or more", c.Drain)
	case c.AccessSample < 1:
		return usage(cmd, "--access-sample is %d; allowed: 1 or more", c.AccessSample)
	case c.DrainDelay < 0:
		return usage(cmd, "--drain-delay is %s; allowed: 0 or more", c.DrainDelay)
	case c.DeadlineMax < 0:
		return usage(cmd, "--deadline-max is %s; allowed: 0 or more", c.DeadlineMax)
	case c.DeadlineMax > 0 && c.DeadlineHeader == "":
		return usage(cmd, "--deadline-max needs --deadline-header")
	}
	for _, field := range []struct{ flag, value string }{{"deadline-header", c.DeadlineHeader}, {"priority-header", c.PriorityHeader}} {
		if !fieldName.MatchString(field.value) {
			return usage(cmd, "--%s is %q; allowed: the name of a header field, as in %s", field.flag, field.value, nethttp.DeadlineHeader)
		}
	}
	return nil
}

// checkAddresses checks the flags of addresses and prefixes.
func (f *serveFlags) checkAddresses(cmd *cobra.Command) (err error) {
	c := &f.config
	for _, address := range []struct{ flag, value string }{{"listen", c.Listen}, {"admin", c.Admin}} {
		if address.value == "" && address.flag == "admin" {
			continue
		}
		if _, _, err := net.SplitHostPort(address.value); err != nil {
			return usage(cmd, "--%s is %q; allowed: HOST:PORT, as in 127.0.0.1:8080 or :8080", address.flag, address.value)
		}
	}
	if c.IPv6Prefix < 1 || c.IPv6Prefix > 128 {
		return usage(cmd, "--ipv6-prefix is %d; allowed: 1 to 128", c.IPv6Prefix)
	}
	for _, protocol := range f.upgrades {
		c.Upgrades = append(c.Upgrades, strings.ToLower(protocol))
	}
	if c.Trusted, err = prefixes(cmd, "trusted-proxies", f.trusted); err != nil {
		return err
	}
	c.ProxyProtocol, err = prefixes(cmd, "proxy-protocol", f.proxied)
	return err
}

// fieldName is the name of a header field (RFC 9110 section 5.1), or none.
var fieldName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]*$")

// prefixes reads the prefixes of a flag.
func prefixes(cmd *cobra.Command, flag string, texts []string) (list []netip.Prefix, err error) {
	for _, text := range texts {
		prefix, err := prefixOf(text)
		if err != nil {
			return nil, usage(cmd, "--%s has %q; allowed: addresses and prefixes, as in 10.0.0.0/8", flag, text)
		}
		list = append(list, prefix)
	}
	return list, nil
}

// prefixOf reads a prefix, or an address alone.
func prefixOf(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap().Prefix(address.Unmap().BitLen())
	}
	prefix, err := netip.ParsePrefix(text)
	if err == nil && prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), err
}

// checkServe checks what serve would begin with, after the flags, whose errors errs are. All
// errors are printed, each on a line.
func (e *Env) checkServe(f *serveFlags, errs []error) error {
	c := f.config
	if c.File = f.policy; f.policy != "" && f.policy != stdinName {
		var err error
		if c.Source, err = e.source(f.policy); err != nil {
			errs = append(errs, err)
		} else if _, err := policy.Parse(c.File, c.Source); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, serve.Check(c)...)
	for _, err := range errs {
		var document policy.Errors
		if errors.As(err, &document) {
			fmt.Fprintln(e.Stderr, err)
		} else {
			fmt.Fprintln(e.Stderr, "sluice: "+err.Error())
		}
	}
	if len(errs) > 0 {
		return fail(ExitBad, nil)
	}
	return nil
}

// serve runs the proxy until the context ends or a signal comes.
func (e *Env) serve(ctx context.Context, f *serveFlags) (err error) {
	c := f.config
	c.File = f.policy
	if c.Source, err = e.source(f.policy); err != nil {
		return err
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		c.Version = info.Main.Version
	}
	if f.access != "" {
		file, err := openLog(f.access, e.Stdout)
		if err != nil {
			return fail(ExitFailed, err)
		}
		defer file.Close()
		c.Access = file
	}
	c.Log = logger(e.Stderr, f.logForm, f.logLevel)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	c.Reload = hangup
	server, err := serve.New(c)
	var document policy.Errors
	switch {
	case errors.As(err, &document):
		fmt.Fprintln(e.Stderr, err)
		return fail(ExitBad, nil)
	case err != nil:
		return fail(ExitBad, err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// The second signal is not caught: it ends the process.
	defer context.AfterFunc(ctx, stop)()
	if err := server.Run(ctx); err != nil {
		return fail(ExitFailed, err)
	}
	return nil
}

func logger(to io.Writer, form, level string) *slog.Logger {
	var l slog.Level
	// The flag takes the levels of slog.
	must(l.UnmarshalText([]byte(level)))
	options := &slog.HandlerOptions{Level: l}
	if form == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}
