package envoy_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/internal/envoy/envoytest"
)

// module is a filter of testdata.
func module(name string) envoy.Wasm {
	return envoy.Wasm{Name: name, Module: filepath.Join("testdata", name+".wasm")}
}

// TestModules assembles the modules of testdata again, where binaryen is at hand.
func TestModules(t *testing.T) {
	for _, name := range []string{"nothing", "continue"} {
		file := filepath.Join(t.TempDir(), name+".wasm")
		assembler, err := exec.LookPath("wasm-as")
		if err != nil {
			t.Skip("wasm-as is missing (on Debian: apt-get install binaryen)")
		}
		out, err := exec.Command(assembler, filepath.Join("testdata", name+".wat"), "-o", file).CombinedOutput()
		require.NoError(t, err, string(out))
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// TestNativeLimit has four workers admit what Envoy's own limit allows, and no more.
func TestNativeLimit(t *testing.T) {
	const burst, perFill, interval = 100, 10, 50 * time.Millisecond // 200 a second
	e := envoytest.Start(t, envoy.Config{Filters: []envoy.Filter{envoy.LocalRateLimit(burst, perFill, interval)}})
	result := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 32, Duration: time.Second})
	fills := int64(result.Elapsed/interval) + 1
	assert.LessOrEqual(t, result.Statuses[200], burst+perFill*fills)
	assert.Positive(t, result.Statuses[429])
	assert.Equal(t, result.Statuses[429], envoytest.Stat(t, e, "native.http_local_rate_limit.rate_limited"))
}

// TestModuleFails has the module of a filter fail at one request.
func TestModuleFails(t *testing.T) {
	up := envoytest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	failing := envoytest.Trapping(t, module("continue").Module)
	for _, policy := range []envoy.FailurePolicy{envoy.FailReload, envoy.FailOpen, envoy.FailClosed} {
		t.Run(string(policy), func(t *testing.T) {
			filter := module("continue")
			filter.Module, filter.Failure = failing, policy
			e := envoytest.Start(t, envoy.Config{Upstream: up.Address(), Filters: []envoy.Filter{filter.Filter()}})
			requests := envoy.Load{Address: e.Address(), Connections: 64, Requests: 1000}
			assert.Equal(t, map[int]int64{204: 1000}, envoytest.Send(t, requests).Statuses)
			failed := envoytest.Send(t, envoy.Load{Address: e.Address(), Connections: 1, Requests: 1, Header: envoytest.TrapRequest()})
			assert.Equal(t, map[int]int64{503: 1}, failed.Statuses)
			after := envoytest.Send(t, requests)
			switch policy {
			case envoy.FailClosed:
				assert.Positive(t, after.Statuses[503], "one worker of four refuses everything")
				assert.Positive(t, after.Statuses[204])
			case envoy.FailOpen:
				assert.Equal(t, map[int]int64{204: 1000}, after.Statuses)
			case envoy.FailReload:
				// The worker refuses until the time between two VMs is over.
				for after.Statuses[503] > 0 {
					after = envoytest.Send(t, requests)
				}
				assert.Equal(t, map[int]int64{204: 1000}, after.Statuses)
			}
		})
	}
}

// TestPush has Envoy take configurations and refuse them, without an answer lost.
func TestPush(t *testing.T) {
	for name, discovered := range map[string]bool{"listener": false, "filter": true} {
		t.Run(name, func(t *testing.T) {
			filter := module("continue")
			filter.Discovered = discovered
			with := func(configuration string) envoy.Config {
				filter.Configuration = configuration
				return envoy.Config{Filters: []envoy.Filter{filter.Filter()}}
			}
			e := envoytest.Start(t, with("a"))
			stop, done := make(chan struct{}), make(chan envoy.Result)
			go func() {
				defer close(done)
				result, err := (&envoy.Load{Address: e.Address(), Connections: 8, Duration: time.Minute, Stop: stop}).Run()
				assert.NoError(t, err)
				done <- result
			}()
			assert.NoError(t, e.Push(with("bb")))
			assert.ErrorIs(t, e.Push(with("bad")), envoy.ErrRejected)
			assert.NoError(t, e.Push(with("good")))
			close(stop)
			result := <-done
			assert.Equal(t, map[int]int64{200: result.Total()}, result.Statuses)
			assert.Zero(t, result.Lost)
		})
	}
	filter := module("continue")
	filter.Configuration = "bad"
	envoytest.Need(t)
	_, err := envoy.Start(envoy.Config{Filters: []envoy.Filter{filter.Filter()}})
	require.ErrorIs(t, err, envoy.ErrRejected)
	_, err = envoy.Start(envoy.Config{Filters: []envoy.Filter{filter.Filter()}, Static: true})
	var exit *envoy.ExitError
	require.True(t, errors.As(err, &exit), err)
	assert.Equal(t, 1, exit.Code)
}
