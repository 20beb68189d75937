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
