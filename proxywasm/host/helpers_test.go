package host_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm/host"
)

// guest is the filter of testdata/guest, which does what its configuration says.
//
//go:embed testdata/guest.wasm
var guest []byte

var guestCode, guestError = host.Compile(guest, host.Envoy140)

func plugin(script string) host.Plugin {
	return host.Plugin{Name: "test", Config: []byte(script), VM: host.VM{Code: guestCode}}
}

// start loads a script into a process.
func start(t *testing.T, config host.Config, script string) (*host.Process, *host.Filter) {
	t.Helper()
	p := newProcess(t, config)
	return p, load(t, p, plugin(script))
}

func newProcess(t *testing.T, config host.Config) *host.Process {
	t.Helper()
	require.NoError(t, guestError)
	p := host.NewProcess(config)
	t.Cleanup(p.Close)
	return p
}

// load loads a plugin and forgets what it logged.
func load(t *testing.T, p *host.Process, plugin host.Plugin) *host.Filter {
	t.Helper()
	f, err := p.Load(plugin)
	require.NoError(t, err, "%v", p.Logs())
	p.TakeLogs()
	return f
}

// said returns the texts logged since the last call, joined by " / ".
func said(p *host.Process) string {
	var texts []string
	for _, line := range p.TakeLogs() {
		texts = append(texts, line.Text)
	}
	return strings.Join(texts, " / ")
}

// run loads a script with a line for the request headers and returns what a
// request logs.
func run(t *testing.T, config host.Config, operations string) string {
	t.Helper()
	p, f := start(t, config, "request_headers: "+operations)
	f.Worker(0).Do(host.Get("/path?q=1#f", "x-tenant", "a", "x-tenant", "b"), host.Answer(200))
	return said(p)
}
