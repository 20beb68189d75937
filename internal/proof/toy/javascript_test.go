package toy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// consumer uses the types of the toy, and what must not compile beside them.
const consumer = `import type { QuotaSettings } from './generated/settings.js';
import type { Step } from './pipeline/policy.js';

export const settings: QuotaSettings = { calls: 5 };
export const steps: Step[] = [{ quota: 5 }, { quota: { ...settings, per: 'key', shadow: true } }];
// @ts-expect-error the calls are required
export const none: Step = { quota: {} };
// @ts-expect-error no such setting
export const other: Step = { quota: { calls: 5, call: 2 } };
`

// TestToyInJavaScript generates what the npm package has of the mechanisms with the toy among
// them: its types compile, and the reader reads it, with the errors of the reader in Go.
func TestToyInJavaScript(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not on PATH: install Node 20 or newer to test the npm package")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(root, "js/node_modules/typescript")); err != nil {
		t.Skip("the tools of the npm package are not installed: run npm ci in js")
	}
	binary, dir := build(t, "gen"), t.TempDir()
	run := func(dir, input, name string, args ...string) string {
		t.Helper()
		command := exec.Command(name, args...)
		command.Dir, command.Stdin = dir, strings.NewReader(input)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	js := filepath.Join(dir, "js")
	for _, part := range []string{"src", "test"} {
		require.NoError(t, os.CopyFS(filepath.Join(js, part), os.DirFS(filepath.Join(root, "js", part))))
	}
	for _, part := range []string{"node_modules", "package.json", "tsconfig.json"} {
		require.NoError(t, os.Symlink(filepath.Join(root, "js", part), filepath.Join(js, part)))
	}
	run(root, "", binary, dir)
	require.NoError(t, os.WriteFile(filepath.Join(js, "src/toy.ts"), []byte(consumer), 0o600))
	run(js, "", "node", "node_modules/typescript/bin/tsc", "--noEmit", "--preserveSymlinks", "-p", ".")

	input := ""
	for _, steps := range []string{`{"quota":5},{"quota":{"calls":7,"per":"ip"}}`, `{"quota":{"calls":1001,"call":2}}`} {
		line, err := json.Marshal(map[string]any{"source": []byte(`{"steps":[` + steps + `]}`)})
		require.NoError(t, err)
		input += string(line) + "\n"
	}
	var answers [2]struct {
		Plan  []byte
		Error string
		Agree bool
	}
	lines := json.NewDecoder(strings.NewReader(run(js, input, "node", "test/reader.mjs")))
	for i := range answers {
		require.NoError(t, lines.Decode(&answers[i]))
		assert.True(t, answers[i].Agree, "the value and its JSON are read differently")
	}
	assert.Contains(t, string(answers[0].Plan), "quota-2", "%s", answers[0].Error)
	assert.Equal(t, `policy:1:29: steps[0].quota.calls: found the number 1001; allowed a whole number from 1 to 1000
policy:1:34: steps[0].quota.call: found the unknown name "call"; allowed calls, name, shadow, when, enforce, per, keys, when_full, missing, scope, description or defaults; did you mean calls?`, answers[1].Error)
}
