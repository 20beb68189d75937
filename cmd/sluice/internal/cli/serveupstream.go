package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/cmd/sluice/internal/serve"
)

// connectionFlags are the flags of serve that say how connections are made, in front and
// to the upstreams.
type connectionFlags struct {
	upstreams   []string
	ejectShare  string
	probePath   string
	onlySeveral []string // flags that need several upstreams
}

func (f *connectionFlags) add(cmd *cobra.Command, c *serve.Config) {
	flags := cmd.Flags()
	flags.IntVar(&c.MaxConnections, "max-connections", 0,
		"how many `CONNECTIONS` of clients may be open; one more is closed at once; 0 for as many as there are descriptors for")
	flags.IntVar(&c.MaxStreams, "max-streams", serve.DefaultMaxStreams,
		"how many `REQUESTS` a client may have under way on a connection of HTTP/2")
	flags.IntVar(&c.Headers.Bytes, "max-header-bytes", serve.DefaultHeaders.Bytes,
		"how many `BYTES` the headers of a request may have, and those of an answer of the upstream; at least 4096")
	flags.IntVar(&c.Headers.Fields, "max-header-fields", serve.DefaultHeaders.Fields, "how many header `FIELDS` they may have; 0 for no bound")
	flags.Int64Var(&c.Headers.Connection, "max-connection-headers", serve.DefaultHeaders.Connection,
		"how many `BYTES` of headers the requests under way on a connection of HTTP/2 may have; 0 for no bound")
	flags.Int64Var(&c.Headers.Process, "max-held-headers", serve.DefaultHeaders.Process,
		"how many `BYTES` of headers all requests under way may have; 0 for no bound")
	flags.StringArrayVarP(&f.upstreams, "upstream", "u", nil,
		"the `URL` where requests go, of http, https or h2c (HTTP/2 without TLS); several times for several")
	flags.StringVar(&c.UpstreamCA, "upstream-ca", "", "a PEM `FILE` of authorities of upstreams, beside those of the system")
	flags.DurationVar(&c.ConnectTimeout, "connect-timeout", 10*time.Second, "how long a connection to an upstream may take to be made")
	flags.DurationVar(&c.IdleTimeout, "idle-timeout", serve.DefaultIdleTimeout,
		"how long a connection of a client may be idle between requests")
	flags.DurationVar(&c.UpstreamIdleTimeout, "upstream-idle-timeout", serve.DefaultUpstreamIdleTimeout,
		"how long an idle connection to an upstream is kept for the next request")
	flags.BoolVar(&c.NetHTTP, "upstream-net-http", false, "send every request to upstreams by the transport of net/http")
	flags.IntVar(&c.UpstreamConnections, "upstream-connections", serve.DefaultUpstreamConnections,
		"how many `CONNECTIONS` to an upstream may be open; 0 for no bound")
	flags.DurationVar(&c.AbandonedWait, "abandoned-wait", serve.DefaultAbandonedWait,
		"how long an attempt whose client has left keeps its places while it waits for its answer; 0 closes its connection at once")
	flags.DurationVar(&c.AbandonedGrace, "abandoned-grace", serve.DefaultAbandonedGrace,
		"how long places are kept after the connection of such an attempt was closed")
	flags.IntVar(&c.Ejection.After, "eject-after", 5, "eject an upstream after so many `FAILURES` in a row; 0 for never")
	flags.DurationVar(&c.Ejection.For, "eject-for", 30*time.Second, "how long the first time; doubled each time, up to ten times that")
	flags.StringVar(&f.ejectShare, "eject-share", "50%", "how many of the upstreams may be ejected at a time")
	flags.StringVar(&f.probePath, "probe-path", "", "the `PATH` of probes of each upstream; empty for none")
	flags.DurationVar(&c.ProbeInterval, "probe-interval", 10*time.Second, "how often each upstream is probed")
	f.onlySeveral = []string{"eject-after", "eject-for", "eject-share", "probe-path", "probe-interval"}
	for _, name := range append([]string{"upstream", "max-connections", "max-streams", "max-header-bytes", "max-header-fields",
		"max-connection-headers", "max-held-headers", "connect-timeout", "idle-timeout", "upstream-idle-timeout",
		"upstream-connections", "upstream-net-http", "abandoned-wait", "abandoned-grace"}, f.onlySeveral...) {
		must(cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
}

// check turns the flags into the configuration.
func (f *connectionFlags) check(cmd *cobra.Command, c *serve.Config) (err error) {
	switch {
	case c.MaxConnections < 0:
		return usage(cmd, "--max-connections is %d; allowed: 0 or more", c.MaxConnections)
	case c.MaxStreams < 1:
		return usage(cmd, "--max-streams is %d; allowed: 1 or more", c.MaxStreams)
	case c.Headers.Bytes < 4096:
		return usage(cmd, "--max-header-bytes is %d; allowed: 4096 or more", c.Headers.Bytes)
	case c.Headers.Fields < 0:
		return usage(cmd, "--max-header-fields is %d; allowed: 0 or more", c.Headers.Fields)
	case c.Headers.Connection != 0 && c.Headers.Connection < int64(c.Headers.Bytes):
		return usage(cmd, "--max-connection-headers is %d; allowed: 0, and --max-header-bytes or more", c.Headers.Connection)
	case c.Headers.Process != 0 && c.Headers.Process < int64(c.Headers.Bytes):
		return usage(cmd, "--max-held-headers is %d; allowed: 0, and --max-header-bytes or more", c.Headers.Process)
	case c.ConnectTimeout <= 0:
		return usage(cmd, "--connect-timeout is %s; allowed: more than 0", c.ConnectTimeout)
	case c.IdleTimeout <= 0:
		return usage(cmd, "--idle-timeout is %s; allowed: more than 0", c.IdleTimeout)
	case c.UpstreamIdleTimeout <= 0:
		return usage(cmd, "--upstream-idle-timeout is %s; allowed: more than 0", c.UpstreamIdleTimeout)
	case c.UpstreamConnections < 0:
		return usage(cmd, "--upstream-connections is %d; allowed: 0 or more", c.UpstreamConnections)
	case c.AbandonedWait < 0:
		return usage(cmd, "--abandoned-wait is %s; allowed: 0 or more", c.AbandonedWait)
	case c.AbandonedGrace < 0:
		return usage(cmd, "--abandoned-grace is %s; allowed: 0 or more", c.AbandonedGrace)
	}
	c.Upstreams = nil
	for _, text := range f.upstreams {
		u, err := upstreamURL(text)
		if err != nil {
			return usage(cmd, "--upstream is %q; %v", text, err)
		}
		if slices.ContainsFunc(c.Upstreams, func(other *url.URL) bool { return *other == *u }) {
			return usage(cmd, "--upstream is %q twice", text)
		}
		if len(c.Upstreams) > 0 && c.Upstreams[0].Path != u.Path {
			return usage(cmd, "--upstream is %q; allowed: one path for all, here %q", text, c.Upstreams[0].Path)
		}
		c.Upstreams = append(c.Upstreams, u)
	}
	if len(f.upstreams) == 1 {
		for _, name := range f.onlySeveral {
			if cmd.Flags().Changed(name) {
				return usage(cmd, "--%s needs more than one --upstream", name)
			}
		}
		return nil
	}
	return f.checkSeveral(cmd, c)
}

// checkSeveral checks the flags of several upstreams.
func (f *connectionFlags) checkSeveral(cmd *cobra.Command, c *serve.Config) (err error) {
	if c.Ejection.Percent, err = strconv.Atoi(strings.TrimSuffix(f.ejectShare, "%")); err != nil ||
		!strings.HasSuffix(f.ejectShare, "%") || c.Ejection.Percent < 0 || c.Ejection.Percent > 100 {
		return usage(cmd, "--eject-share is %q; allowed: 0%% to 100%%", f.ejectShare)
	}
	switch {
	case c.Ejection.After < 0 || c.Ejection.After > maxEjectAfter:
		return usage(cmd, "--eject-after is %d; allowed: 0 to %d", c.Ejection.After, maxEjectAfter)
	case c.Ejection.For < time.Millisecond || c.Ejection.For > maxEjectFor:
		return usage(cmd, "--eject-for is %s; allowed: 1ms to %s", c.Ejection.For, maxEjectFor)
	case f.probePath == "" && cmd.Flags().Changed("probe-interval"):
		return usage(cmd, "--probe-interval needs --probe-path")
	case c.ProbeInterval < time.Millisecond:
		return usage(cmd, "--probe-interval is %s; allowed: 1ms or more", c.ProbeInterval)
	case f.probePath == "":
		return nil
	}
	path, err := url.Parse(f.probePath)
	if err != nil || !strings.HasPrefix(f.probePath, "/") || path.Host != "" || path.Fragment != "" {
		return usage(cmd, "--probe-path is %q; allowed: a path, as in /healthz", f.probePath)
	}
	c.ProbePath = path
	return nil
}

// The greatest values of the flags of ejection: the breaker's own, and a day.
const (
	maxEjectAfter = 10_000
	maxEjectFor   = 24 * time.Hour
)

var errUpstream = errors.New("allowed: an http, https or h2c URL, as in http://127.0.0.1:3000")

// upstreamURL reads a URL that requests can be sent to.
func upstreamURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, !slices.Contains([]string{"http", "https", "h2c"}, u.Scheme), u.Hostname() == "":
		return nil, errUpstream
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%w, without user, query and fragment", errUpstream)
	}
	return u, nil
}
