package serve

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

const traceToken = "a-token-of-16-bytes"

// traceOf asks the admin address about its trace.
func traceOf(t *testing.T, method, url string, header http.Header) (code int, s traceStatus) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + traceToken}}
	for name, lines := range header {
		req.Header[name] = lines
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode == http.StatusOK {
		require.NoError(t, json.Unmarshal(body, &s), string(body))
	}
	return resp.StatusCode, s
}

// TestTrace stops and starts the trace of a proxy that runs, and reads what it wrote.
func TestTrace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.ndjson")
	p := run(t, `
version: 1
policies:
  api: {steps: [{limit: {rate: 1/1h, per: header:authorization}}]}
routes:
  - {path: /api/**, policy: api}
`, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), func(c *Config) {
		c.Trace, c.AdminToken = sluice.TraceOptions{File: file, Rotate: 1, Attributes: []string{"method", "path"}}, traceToken
	})
	get := func(path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer s3cr3t")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	assert.Equal(t, 200, get("/api/a"))
	assert.Equal(t, 429, get("/api/b"))
	assert.Equal(t, 200, get("/untouched"))
	code, s := traceOf(t, http.MethodGet, p.admin+"/trace", nil)
	assert.Equal(t, 200, code)
	assert.True(t, s.Active)
	assert.EqualValues(t, 2, s.Calls)
	assert.Equal(t, file, s.File)

	code, _ = traceOf(t, http.MethodPost, p.admin+"/trace/stop",
		http.Header{"Origin": {"http://elsewhere.example"}, "Sec-Fetch-Site": {"cross-site"}})
	assert.Equal(t, 403, code, "from a page of another origin")
	code, s = traceOf(t, http.MethodPost, p.admin+"/trace/stop", nil)
	assert.Equal(t, 200, code)
	assert.False(t, s.Active)
	assert.EqualValues(t, 2, s.Calls)
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	text := string(src)
	assert.NotContains(t, text, "s3cr3t")
	assert.Contains(t, text, `"id":"api/1","attributes":{"header:authorization":"hash:`)
	assert.Contains(t, text, `"path":"/api/b"}`)
	assert.Contains(t, text, `"id":"api/2","decision":"reject","step":"limit","reason":"rate"`)
	assert.NotContains(t, text, "/untouched")

	get("/api/c")
	for range 2 {
		code, s = traceOf(t, http.MethodPost, p.admin+"/trace/start", nil)
		assert.Equal(t, 200, code)
		assert.True(t, s.Active)
	}
	get("/api/d")
	p.stop()
	require.NoError(t, <-p.ended)
	p.ended <- nil
	kept, err := os.ReadFile(file + ".1")
	require.NoError(t, err)
	assert.Equal(t, text, string(kept), "the first trace")
	src, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(src), "/api/d")
	assert.NotContains(t, string(src), "/api/c")
	assert.Contains(t, string(src), `"calls":1,`)
	assert.Equal(t, 2, p.journal.count("requests are traced"))
	assert.Equal(t, 2, p.journal.count("requests are no longer traced"))
}

// TestTraceOff begins no trace at the start, and says why one cannot begin.
func TestTraceOff(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing", "trace.ndjson")
	p := run(t, "version: 1\npolicies: {a: {steps: [{limit: 1/1s}]}}\n", http.NotFoundHandler(), func(c *Config) {
		c.Trace, c.TraceOff, c.AdminToken = sluice.TraceOptions{File: missing}, true, traceToken
	})
	code, s := traceOf(t, http.MethodGet, p.admin+"/trace", nil)
	assert.Equal(t, 200, code)
	assert.False(t, s.Active)
	code, _ = traceOf(t, http.MethodPost, p.admin+"/trace/start", nil)
	assert.Equal(t, 500, code)
	_, s = traceOf(t, http.MethodGet, p.admin+"/trace", nil)
	assert.True(t, strings.Contains(s.Error, "no such file"), s.Error)
	require.NoError(t, os.Mkdir(filepath.Dir(missing), 0o755))
	code, _ = traceOf(t, http.MethodPost, p.admin+"/trace/start", nil)
	assert.Equal(t, 200, code)
}
