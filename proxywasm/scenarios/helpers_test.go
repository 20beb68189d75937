package scenarios_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// policies has the policies of the document of the shared Envoys. Each has the requests below
// its name.
var policies = map[string]string{
	"overload":        `{"steps":[{"limit":{"rate":"200/1s","burst":100}}]}`,
	"each-worker":     `{"steps":[{"limit":{"rate":"1/1h","burst":50}}]}`,
	"token-bucket":    `{"steps":[{"limit":{"rate":"500/1h"}}]}`,
	"fixed-window":    `{"steps":[{"limit":{"rate":"500/1h","algorithm":"fixed-window"}}]}`,
	"sliding-counter": `{"steps":[{"limit":{"rate":"500/1h","algorithm":"sliding-counter"}}]}`,
	"sliding-log":     `{"steps":[{"limit":{"rate":"500/1h","algorithm":"sliding-log"}}]}`,
	"shadow":          `{"steps":[{"limit":{"rate":"1/1h","shadow":true}}]}`,
	"metrics":         `{"steps":[{"limit":{"rate":"100/1h"}}]}`,
	"wait":            `{"steps":[{"limit":{"rate":"2/1s","burst":1,"wait":"3s","queue":3}}]}`,
	"brown-out":       `{"steps":[{"breaker":{"window":{"calls":40},"minimum":40,"failure_rate":"50%","open":"1s","probes":3}}]}`,
	"resets":          `{"steps":[{"breaker":{"window":{"consecutive":3},"open":"1h"}}]}`,
	"slow":            `{"steps":[{"breaker":{"window":{"calls":3},"minimum":3,"slow":{"over":"50ms","rate":"100%"},"open":"1h"}}]}`,
	"leave":           `{"steps":[{"bulkhead":{"concurrent":4}}]}`,
	"bulkhead":        `{"steps":[{"bulkhead":{"concurrent":5}}]}`,
	"streams":         `{"steps":[{"limit":{"rate":"70/1h"}}]}`,
	"memory":          `{"steps":[{"limit":{"rate":"1000/1s","per":"header:x-tenant"}},{"breaker":{"window":{"calls":100}}},{"bulkhead":{"concurrent":100}}]}`,
}

// wholeDocument has all policies.
func wholeDocument(state string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		all = append(all, fmt.Sprintf(`{"path":"/%s/**","policy":%q}`, name, name))
	}
	bodies := map[string]json.RawMessage{}
	for name, body := range policies {
		bodies[name] = json.RawMessage(body)
	}
	text, err := json.Marshal(bodies)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"version":1,"policies":%s,"routes":[%s],"proxy":{"state":%q}}`, text, strings.Join(all, ","), state)
}

// direct are the policies whose requests Envoy answers by itself.
var direct = []string{"overload", "each-worker", "token-bucket", "fixed-window", "sliding-counter", "sliding-log", "metrics", "memory"}

// site is an Envoy that tests share, since it takes a while to compile the module. Each
// test has a policy of its own there.
type site struct {
	*envoy.Envoy
	upstream *envoy.Upstream
	users    map[string]testing.TB // by their names
	mu       sync.Mutex
	handlers map[string]http.HandlerFunc
}

var sites = map[string]*site{} // by the state

func newSite(state string) (*site, error) {
	s := &site{users: map[string]testing.TB{}, handlers: map[string]http.HandlerFunc{}}
	module, err := filepath.Abs("../sluice.wasm")
	if err != nil {
		return nil, err
	}
	c := envoy.Config{
		Filters: []envoy.Filter{envoy.Wasm{Name: "sluice", Module: module, Configuration: wholeDocument(state), Failure: envoy.FailReload}.Filter()},
	}
	for _, name := range direct {
		c.Routes = append(c.Routes, envoy.Route{Name: name, Prefix: "/" + name + "/", Direct: true})
	}
	if s.upstream, err = envoy.NewUpstream(s); err != nil {
		return nil, err
	}
	c.Upstream = s.upstream.Address()
	if s.Envoy, err = envoy.Start(c); err != nil {
		return nil, errors.Join(err, s.upstream.Close())
	}
	return s, nil
}

func (s *site) close() error { return errors.Join(s.Envoy.Close(), s.upstream.Close()) }

// ServeHTTP answers by the handler of a policy, and with 200 without one.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	h := s.handlers[name]
	s.mu.Unlock()
	if h != nil {
		h(w, r)
	}
}

// handle sets the handler of a policy.
func (s *site) handle(name string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers[name] = h
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range sites {
		if err := s.close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// at returns the shared Envoy of a state, a new one for a test that runs again.
func at(t testing.TB, state string) *site {
	t.Helper()
	envoytest.Need(t)
	s := sites[state]
	if s != nil && s.users[t.Name()] != nil && s.users[t.Name()] != t {
		delete(sites, state)
		require.NoError(t, s.close())
		s = nil
	}
	if s == nil {
		var err error
		s, err = newSite(state)
		require.NoError(t, err)
		sites[state] = s
	}
	if s.users[t.Name()] == nil {
		s.users[t.Name()] = t
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(s.Log())
			}
		})
	}
	return s
}

// inEachState runs a test in both states.
func inEachState(t *testing.T, test func(t *testing.T, s *site)) {
	for _, state := range []string{"process", "worker"} {
		t.Run(state, func(t *testing.T) { test(t, at(t, state)) })
	}
}

// modulePath returns the path of the filter.
func modulePath(t testing.TB) string {
	t.Helper()
	path, err := filepath.Abs("../sluice.wasm")
	require.NoError(t, err)
	return path
}

// filter is the filter with a policy document in JSON as its configuration.
func filter(t testing.TB, document string) envoy.Wasm {
	t.Helper()
	return envoy.Wasm{Name: "sluice", Module: modulePath(t), Configuration: document, Failure: envoy.FailReload, Discovered: true}
}

// document is a policy document of one policy for all requests. The state is process or
// worker, the steps are JSON.
func document(state, steps string) string {
	return fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[%s]}},"routes":[{"path":"/**","policy":"all"}],"proxy":{"state":%q}}`, steps, state)
}

// statusesOf counts the answers to so many requests in a row, by status.
func statusesOf(c *envoytest.Client, n int, path string, headers ...string) map[int]int {
	statuses := map[int]int{}
	for range n {
		statuses[c.Get(path, headers...).Status]++
	}
	return statuses
}

// fields compares headers that have one value each.
func fields(t testing.TB, h http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		assert.Equal(t, []string{value}, h.Values(name), name)
	}
}
