package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/reducer"
)

// TestEvalSteps writes the steps of a log, among them steps of the lines before one
// that cannot be read. The step of the reference page is one of them.
func TestEvalSteps(t *testing.T) {
	dir := t.TempDir()
	document, steps := filepath.Join(dir, "p.yaml"), filepath.Join(dir, "steps.ndjson")
	require.NoError(t, os.WriteFile(document, []byte(`
version: 1
policies:
  p:
    steps:
      - limit: {rate: 1/10s, burst: 2, per: key}
      - breaker: {window: {consecutive: 1}, open: 5s, probes: 1}
      - bulkhead: {concurrent: 1, queue: 3}
`), 0o600))
	log := `{"at":"0s","op":"call","id":1,"key":"red"}
{"at":"1s","op":"done","id":1,"outcome":"fail"}
{"at":"1s","op":"call","id":2,"key":"red"}
`
	for _, last := range []string{"", "{\n"} {
		code, _, stderr := runArgs(log+last, "eval", "--policy", document, "--steps", steps)
		assert.Equal(t, last == "", code == ExitOK, stderr)
		written, err := os.ReadFile(steps)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSuffix(string(written), "\n"), "\n")
		require.Len(t, lines, 8)
		for i, line := range lines {
			e, err := reducer.ParseTrace(line)
			require.NoError(t, err)
			assert.EqualValues(t, i+1, e.N)
		}
		page, err := os.ReadFile(filepath.FromSlash("../../../../eval/REFERENCE.md"))
		require.NoError(t, err)
		shown := regexp.MustCompile(`(?m)^\{"n":.*$`).FindString(string(page))
		assert.Equal(t, lines[6], shown)
	}
	code, _, stderr := runArgs(log, "eval", "--policy", document, "--steps", filepath.Join(dir, "no", "steps"))
	assert.Equal(t, ExitBad, code)
	assert.Contains(t, stderr, "cannot write")
}

// TestReplaySteps takes the steps of a log again: under their own policy all are as they were,
// under another one the first that differs is named with its line.
func TestReplaySteps(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const document = `
version: 1
policies:
  p: {steps: [{limit: {rate: 1/10s, burst: 2, per: key}}, {breaker: {window: {consecutive: 1}, open: 5s, probes: 1}}]}
  q: {steps: [{bulkhead: 1}]}
`
	own, steps := file("own.yaml", document), filepath.Join(dir, "steps.ndjson")
	log := `{"at":"0s","op":"call","id":"p/1","key":"red"}
{"at":"0s","op":"call","id":"q/1","key":"red"}
{"at":"1s","op":"done","id":"p/1","outcome":"fail"}
{"at":"1s","op":"call","id":"p/2","key":"red"}
`
	code, _, stderr := runArgs(log, "eval", "--all", "--policy", own, "--steps", steps)
	require.Equal(t, ExitOK, code, stderr)

	code, stdout, stderr := runArgs("", "replay", "--policy", own, "--steps", steps)
	assert.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, steps+": 7 steps of 3 cells, each as "+own+" takes it\n", stdout)

	other := file("other.yaml", strings.Replace(document, "open: 5s", "open: 6s", 1))
	code, stdout, stderr = runArgs("", "replay", "--policy", other, "--steps", steps)
	assert.Equal(t, ExitBad, code)
	assert.Empty(t, stdout)
	assert.Regexp(t, `^line 4: p/breaker at 1s, record fail gen=1: recorded the state [0-9a-f]{16}; replayed [0-9a-f]{16}, open until 7s\n$`, stderr)

	for _, c := range []struct {
		want string
		args []string
	}{
		{"cell: found \"p/limit\"; allowed: bulkhead", []string{"--policy", own + ":q", "--steps", steps}},
		{"--steps needs --policy FILE", []string{"--steps", steps}},
		{"--seed does not go with --steps", []string{"--policy", own, "--steps", steps, "--seed", "1"}},
		{"--began goes with --steps", []string{"--policy", own, "--began", "2026-01-01T00:00:00Z", steps}},
		{"unknown command", []string{"--policy", own, "--steps", steps, steps}},
		{"cannot read", []string{"--policy", own, "--steps", filepath.Join(dir, "none")}},
	} {
		code, _, stderr := runArgs("", append([]string{"replay"}, c.args...)...)
		assert.Equal(t, ExitBad, code, c.want)
		assert.Contains(t, stderr, c.want)
	}
}
