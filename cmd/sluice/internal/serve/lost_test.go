package serve

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// full is a disk that is full.
type full struct{ writes atomic.Int64 }

func (f *full) Write([]byte) (int, error) {
	f.writes.Add(1)
	return 0, errors.New("no space left on device")
}

// TestFullDiskUnderTheAccessLog is told once a minute and counted, and ends no request.
func TestFullDiskUnderTheAccessLog(t *testing.T) {
	disk := &full{}
	inBubble(t, open, func(http.ResponseWriter, *http.Request) {}, func(b *bubble) {
		for range 150 {
			resp, _ := b.get("/x")
			assert.Equal(t, 200, resp.StatusCode)
			later(time.Second)
		}
		assert.EqualValues(t, 150, disk.writes.Load())
		assert.Equal(t, 3, b.journal.count("the access log cannot be written"))
		line := b.journal.await(t, "the access log cannot be written")
		assert.Equal(t, "ERROR", line["level"])
		assert.Equal(t, "no space left on device", line["error"])
		line = b.journal.await(t, "the access log cannot be written")
		assert.EqualValues(t, 59, line["others"])
		families, err := b.meter.registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "sluice_access_log_lost_lines_total" {
				assert.InDelta(t, 150, f.Metric[0].Counter.GetValue(), 0)
				return
			}
		}
		t.Error("there is no metric")
	}, func(c *Config) { c.Access = disk })
}

// TestFullDiskUnderTheTrace is told by /trace, the metrics and the log.
func TestFullDiskUnderTheTrace(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "trace.ndjson")
	require.NoError(t, os.Symlink("/dev/full", link))
	p := run(t, "version: 1\npolicies: {api: {steps: [{limit: 1000000/1s}]}}\nroutes: [{path: /**, policy: api}]\n",
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(c *Config) {
			c.Trace, c.AdminToken = sluice.TraceOptions{File: link}, traceToken
		})
	const requests = 300
	for range requests {
		resp, _ := get(t, p.url+"/x")
		require.Equal(t, 200, resp.StatusCode)
	}
	line := p.journal.await(t, "calls are missing in the trace")
	assert.Equal(t, "ERROR", line["level"])
	assert.Contains(t, line["error"], "no space left on device")
	_, s := traceOf(t, http.MethodGet, p.admin+"/trace", nil)
	for s.Calls > 0 { // the last lines are on their way to the file
		_, s = traceOf(t, http.MethodGet, p.admin+"/trace", nil)
	}
	assert.Zero(t, s.Lines, "nothing was written")
	assert.Greater(t, s.LostCalls, uint64(0))
	assert.LessOrEqual(t, s.LostCalls, uint64(requests))
	assert.Greater(t, s.LostCalls+s.LostLines, uint64(requests)-1, "a call whose beginning is lost has no other lines, or they are lost too")
	assert.Contains(t, s.Error, "no space left on device")
	assert.NotContains(t, p.metric(t, "sluice_trace_lost_calls_total"), " 0")
}

// TestRoutesOfTheAdminAddress is who may use which route: of each, without a token, with a
// wrong one, with a right one, and by a name that may be a stranger's.
func TestRoutesOfTheAdminAddress(t *testing.T) {
	const public, secret, probe = "public", "secret", "probe"
	routes := map[string]string{
		"GET /": public, "GET /metrics": public, "GET /trace": public, "GET /ui": public,
		"GET /livez": probe, "GET /readyz": probe, "GET /healthz": probe,
		"POST /trace/stop": secret, "POST /trace/start": secret,
		"GET /api/steps": secret, "GET /api/breakers": secret, "GET /api/events": secret, "GET /api/openapi.yaml": secret,
		"GET /api/steps/p/bulkhead": secret, "GET /api/steps/p/bulkhead/blocked": secret, "GET /api/nothing": secret,
		"POST /api/steps/p/bulkhead/drain": secret, "POST /api/steps/p/breaker/open": secret,
		"GET /api/events/stream": secret,
	}
	for _, tokens := range []bool{true, false} {
		p := run(t, stepsOf("[{breaker: {window: {calls: 10}}}, {bulkhead: 5}]"), http.NotFoundHandler(), func(c *Config) {
			c.Trace, c.AdminHosts = sluice.TraceOptions{File: filepath.Join(t.TempDir(), "trace.ndjson")}, []string{"sluice.example.com"}
			if tokens {
				c.AdminToken = traceToken
			}
		})
		for route, kind := range routes {
			method, path, _ := strings.Cut(route, " ")
			ask := func(host, token string) int {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), method, p.admin+path, nil)
				require.NoError(t, err)
				if host != "" {
					r.Host = host
				}
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				return resp.StatusCode
			}
			for _, host := range []string{"", "localhost:8081", "[::1]:8081", "10.0.0.1", "sluice", "sluice.ns.svc.cluster.local:8081",
				"sluice.example.com", "SLUICE.example.com."} {
				for _, token := range []string{"", "a-token-that-is-wrong", traceToken} {
					status := ask(host, token)
					switch {
					case kind != secret && (tokens || path != "/ui"):
						assert.Equal(t, 200, status, "%s %s", route, host)
					case !tokens:
						assert.Contains(t, []int{404, 405}, status, "%s: nothing is changed without tokens", route)
					case token != traceToken:
						assert.Equal(t, 401, status, "%s %s", route, host)
					default:
						assert.NotContains(t, []int{401, 403, 421}, status, "%s %s", route, host)
					}
				}
			}
			for _, host := range []string{"rebound.example", "localhost.example.com", "10.0.0.1.example.com:8081", "xsluice.example.com",
				"a.sluice.example.com"} {
				want := 421
				if kind == probe {
					want = 200
				}
				assert.Equal(t, want, ask(host, traceToken), "%s %s", route, host)
			}
		}
	}
}
