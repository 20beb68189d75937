package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// modulePath returns the path of the filter.
func modulePath(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../sluice.wasm")
	require.NoError(t, err)
	if _, err = os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

// filter is the filter with a policy document in JSON as its configuration.
func filter(t testing.TB, document string) envoy.Wasm {
	t.Helper()
	return envoy.Wasm{Name: "sluice", Module: modulePath(t), Configuration: document, Failure: envoy.FailReload}
}

// document is a policy document of one policy for all requests. The state is process or
// worker, the steps are JSON.
func document(state, steps string) string {
	return fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[%s]}},"routes":[{"path":"/**","policy":"all"}],"proxy":{"state":%q}}`, steps, state)
}

// start starts an Envoy with the filter. An empty upstream is none.
func start(t testing.TB, document, upstream string) *envoy.Envoy {
	t.Helper()
	return envoytest.Start(t, envoy.Config{Upstream: upstream, Filters: []envoy.Filter{filter(t, document).Filter()}})
}

// inEachState runs a test in both states.
func inEachState(t *testing.T, test func(t *testing.T, state string)) {
	for _, state := range []string{"process", "worker"} {
		t.Run(state, func(t *testing.T) { test(t, state) })
	}
}

// statusesOf counts the answers to so many requests in a row, by status.
func statusesOf(c *envoytest.Client, n int, path string, headers ...string) map[int]int {
	statuses := map[int]int{}
	for range n {
		statuses[c.Get(path, headers...).Status]++
	}
	return statuses
}

// problem is the document of a refusal.
func problem(kind, title, detail, reason, step string, status int) string {
	return fmt.Sprintf(`{"type":"https://iana.org/assignments/http-problem-types#%s","title":%q,"status":%d,"detail":%q,"violated-policies":[%q],"reason":%q,"step":%q}`+"\n",
		kind, title, status, detail, step, reason, step)
}

// logged returns the lines of an Envoy's log with a text.
func logged(log, text string) (lines []string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}
