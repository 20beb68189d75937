package filtertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/proxywasm"
	"github.com/sluice-go/sluice/proxywasm/host"
)

// workers is how many workers a process has.
const workers = 4

var filterCode, errFilter = host.Compile(proxywasm.Module, host.Envoy140)

// steps is a policy document of one policy for all requests.
func steps(state, list string) string {
	return fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[%s]}},"routes":[{"path":"/**","policy":"all"}],"proxy":{"state":%q}}`, list, state)
}

// plugin is the filter with a document.
func plugin(document string) host.Plugin {
	return host.Plugin{Name: "sluice", Config: []byte(document), VM: host.VM{ID: "sluice", Code: filterCode}, FailurePolicy: host.FailReload}
}

// envoy is a process with the filter.
type envoy struct {
	*host.Process
	filter *host.Filter
}

// start starts a process with the filter.
func start(t testing.TB, document string) *envoy {
	t.Helper()
	require.NoError(t, errFilter)
	p := host.NewProcess(host.Config{Workers: workers})
	t.Cleanup(p.Close)
	e := &envoy{Process: p}
	e.push(t, document)
	return e
}

// push loads the filter with a document.
func (e *envoy) push(t testing.TB, document string) {
	t.Helper()
	f, err := e.Load(plugin(document))
	require.NoError(t, err, "%v", e.Logs())
	e.filter = f
}

// begin sends the headers of a request.
func (e *envoy) begin(worker int, headers ...string) *host.Stream {
	s := e.filter.Worker(worker).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/", headers...), host.End)
	return s
}

// answer ends a request that passed.
func answer(s *host.Stream, status int) { s.ResponseHeaders(host.Answer(status), host.End) }

// get sends a request that is answered with 200 where it passes, and returns the status
// that the client gets, 0 while the request waits.
func (e *envoy) get(worker int, headers ...string) int {
	return statusOf(e.filter.Worker(worker).Do(host.Get("/", headers...), host.Answer(200)))
}

// statusOf returns the status that the client got, 0 for none.
func statusOf(s *host.Stream) int {
	if s.Response() == nil {
		return 0
	}
	return s.Response().Status()
}

// reasonOf returns why a request was refused.
func reasonOf(s *host.Stream) string {
	if s.Response() == nil {
		return ""
	}
	return s.Response().Headers.Value("x-throttle-reason")
}

// tick lets the timers of all workers fire.
func (e *envoy) tick() {
	for worker := range workers {
		e.filter.Worker(worker).Tick()
	}
}

// flush lets all workers tell their counters.
func (e *envoy) flush() {
	for range int(time.Second/waitTick) + 1 {
		e.tick()
	}
}

// waitTick is the period of ticks while requests wait.
const waitTick = 5 * time.Millisecond

// inEachState runs a test in both states.
func inEachState(t *testing.T, test func(t *testing.T, state string)) {
	for _, state := range []string{"process", "worker"} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			test(t, state)
		})
	}
}

// logged returns the lines of the log with a text.
func (e *envoy) logged(text string) (lines []string) {
	for _, line := range e.Logs() {
		if strings.Contains(line.Text, text) {
			lines = append(lines, line.Text)
		}
	}
	return lines
}
