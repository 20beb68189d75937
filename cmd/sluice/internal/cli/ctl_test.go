//go:build unix

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
)

const operated = `
version: 1
policies:
  api: {steps: [{breaker: {window: {consecutive: 3}}}, {limit: {rate: 1/1h, per: [key, "header:x-client"]}}]}
  all: {steps: [{limit: {rate: 1/1h, name: rate}}]}
routes:
  - {path: /api/**, policy: api}
  - {path: /all/**, policy: all}
`

// servedProxy is a sluice serve that runs.
type servedProxy struct {
	proxy, admin string
	tokens       string // the file
}

// serveOperated runs serve until the test ends.
func serveOperated(t *testing.T) servedProxy {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(upstream.Close)
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "tokens")
	require.NoError(t, os.WriteFile(file, []byte(operated), 0o600))
	require.NoError(t, os.WriteFile(tokens, []byte("# tokens\nops 0123456789abcdef-ops\n"), 0o600))
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- RunContext(ctx, []string{"serve", "-p", file, "-u", upstream.URL, "-l", "127.0.0.1:0", "--admin", "127.0.0.1:0",
			"--log-format", "json", "--admin-token-file", tokens}, strings.NewReader(""), io.Discard, w)
		w.Close()
	}()
	p := servedProxy{tokens: tokens}
	lines := bufio.NewScanner(r)
	for p.admin == "" && lines.Scan() {
		if strings.Contains(lines.Text(), `"msg":"serving"`) {
			for _, m := range address.FindAllStringSubmatch(lines.Text(), -1) {
				if m[1] == "listen" {
					p.proxy = "http://" + m[2]
				} else {
					p.admin = "http://" + m[2]
				}
			}
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, r)
	}()
	t.Cleanup(func() {
		stop()
		assert.Zero(t, <-code)
		<-drained
		http.DefaultClient.CloseIdleConnections()
	})
	require.NotEmpty(t, p.admin, "it did not start")
	return p
}

// ctl runs a command that must succeed.
func (p servedProxy) ctl(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := runArgs("", p.args(args)...)
	require.Zero(t, code, "%q: %s", args, errs)
	return out
}

func (p servedProxy) args(args []string) []string {
	return append([]string{"ctl", "--address", p.admin, "--token-file", p.tokens, "--author", "ann"}, args...)
}

func (p servedProxy) get(t *testing.T, path, client string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.proxy+path, nil)
	require.NoError(t, err)
	r.Header.Set("X-Client", client)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

func TestCtl(t *testing.T) {
	p := serveOperated(t)
	out := p.ctl(t, "steps")
	assert.Equal(t, []string{
		"POLICY STEP MECHANISM STATE", "api breaker breaker closed", "api limit limit 0 keys per key, header:x-client", "all rate limit 1 free",
	}, squeezed(out))

	p.ctl(t, "open", "api", "breaker", "--reason", "vendor maintenance", "--for", "30m")
	assert.Equal(t, 503, p.get(t, "/api/x", "a"))
	out = p.ctl(t, "breakers")
	assert.Regexp(t, `(?m)^open\s+api\s+breaker\s+\d{4}-\d\d-\d\dT\S+\s+(30m0s|29m59\S+)$`, out)
	p.ctl(t, "transition", "api", "breaker", "forced-closed", "--reason", "x")
	assert.Contains(t, p.ctl(t, "breakers"), "forced-closed")
	p.ctl(t, "close", "api", "breaker", "--reason", "x")
	assert.Equal(t, 200, p.get(t, "/api/x", "a"))
	assert.Equal(t, 429, p.get(t, "/api/x", "a"))

	key := []string{"--key", "", "--key", "a", "--reason", "x"}
	p.ctl(t, append([]string{"forgive", "api", "limit"}, key...)...)
	assert.Equal(t, 200, p.get(t, "/api/x", "a"))
	p.ctl(t, append([]string{"block", "api", "limit", "--for", "1h"}, key...)...)
	assert.Regexp(t, `^"" "a" (59m59\S+|1h0m0s)$`, squeezed(p.ctl(t, "blocked", "api", "limit"))[1])
	assert.Regexp(t, `blocked for (59m59|1h0m0s)`, p.ctl(t, "show", "api", "limit", "--key", "", "--key", "a"))
	p.ctl(t, append([]string{"unblock", "api", "limit"}, key...)...)
	p.ctl(t, append([]string{"forget", "api", "limit"}, key...)...)
	assert.Equal(t, 200, p.get(t, "/api/x", "a"))

	p.ctl(t, "drain", "all", "rate", "--reason", "the vendor asked")
	assert.Equal(t, 429, p.get(t, "/all/x", ""))
	p.ctl(t, "reset", "all", "rate", "--reason", "x")
	assert.Equal(t, 200, p.get(t, "/all/x", ""))
	p.ctl(t, "set", "all", "rate", "rate=7/1h", "burst=3", "--reason", "launch")
	out = p.ctl(t, "show", "all", "rate")
	assert.Contains(t, out, `"burst":3`)
	assert.Contains(t, out, `"rate":"7/1h0m0s"`)

	var s operate.Step
	require.NoError(t, json.Unmarshal([]byte(p.ctl(t, "show", "all", "rate", "--json")), &s))
	assert.Equal(t, "limit", s.Mechanism)
	out = p.ctl(t, "events", "--last", "2")
	assert.Regexp(t, regexp.MustCompile(`^\S+ all.rate reset by ops:ann because "x"\n\S+ all.rate configure by ops:ann because "launch"\n$`), out)
}

// squeezed returns the lines with one space between words.
func squeezed(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// TestCtlTail follows events until the reader leaves.
func TestCtlTail(t *testing.T) {
	p := serveOperated(t)
	p.ctl(t, "reset", "all", "rate", "--reason", "first")
	ctx, stop := context.WithCancel(t.Context())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- RunContext(ctx, p.args([]string{"tail", "--requests"}), strings.NewReader(""), w, io.Discard)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	require.True(t, lines.Scan())
	assert.Contains(t, lines.Text(), `all.rate reset by ops:ann because "first"`)
	assert.Equal(t, 200, p.get(t, "/all/x", ""))
	require.True(t, lines.Scan())
	assert.Regexp(t, `^\S+ all admit$`, lines.Text())
	require.True(t, lines.Scan())
	assert.Regexp(t, `^\S+ all end ok$`, lines.Text())
	assert.Equal(t, 429, p.get(t, "/all/x", ""))
	require.True(t, lines.Scan())
	assert.Regexp(t, `^\S+ all.rate reject reason rate retry after \S+$`, lines.Text())
	stop()
	assert.Zero(t, <-code)
}

func TestCtlRefusals(t *testing.T) {
	p := serveOperated(t)
	wrong := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(wrong, []byte("0123456789abcdef-wrong"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("# none\n"), 0o600))
	t.Setenv(tokenVariable, "")
	at, token := "ctl --address "+p.admin, " --token-file "+p.tokens
	for _, c := range []struct {
		line string
		code int
		want string
	}{
		{"ctl opne", 2, `there is no command "opne"; did you mean open? (see sluice ctl --help)`},
		{at + " steps", 2, "ctl needs a token: --token-file FILE, or the variable SLUICE_ADMIN_TOKEN"},
		{at + " steps --token-file " + empty, 2, "ctl needs a token"},
		{at + " steps --token-file " + empty + "x", 2, "no such file"},
		{at + " steps --token-file " + wrong, 2, "with a valid token"},
		{"ctl --address localhost:80 steps" + token, 2, `--address is "localhost:80"; allowed: an http or https URL`},
		{"ctl --address http://127.0.0.1:1 steps" + token, 3, "connection refused"},
		{"ctl --address " + p.proxy + " steps" + token, 3, "an answer that cannot be read"},
		{at + token + " open api breaker", 2, "open needs --reason, which the server logs (see sluice ctl open --help)"},
		{at + token + " open api --reason x", 2, "accepts 2 arg(s), received 1"},
		{at + token + " open api brake --reason x", 2, "the policy has no such step; it has breaker, limit"},
		{at + token + " drain api limit --reason x", 2, "needs a key"},
		{at + token + " set all rate rate --reason x", 2, `found "rate"; allowed: NAME=VALUE`},
		{at + token + " set all rate rate=5 --reason x", 2, "limit.rate"},
		{at + token + " set all rate rate={ --reason x", 2, "the value of rate"},
		{at + token + " events --last 0", 2, `n: found "0"`},
		{at + token + " block api limit --key a --for 1h --reason x", 2, "one value for each attribute of per, key, header:x-client; found 1"},
	} {
		code, out, errs := run("", c.line)
		assert.Equal(t, c.code, code, c.line)
		assert.Empty(t, out, c.line)
		assert.Contains(t, errs, c.want, c.line)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		assert.Equal(t, 1, strings.Count(errs, "sluice: "), errs)
		assert.NotContains(t, errs, "0123456789abcdef", c.line)
	}
}

// TestCtlBySecretInTheEnvironment needs no file, on either side.
func TestCtlBySecretInTheEnvironment(t *testing.T) {
	p := serveOperated(t)
	t.Setenv(tokenVariable, "0123456789abcdef-ops")
	code, out, errs := run("", "ctl --address "+p.admin+" breakers")
	assert.Zero(t, code, errs)
	assert.Contains(t, out, "closed")
}
