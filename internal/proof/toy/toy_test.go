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

// edit is a line of a file of the repository, and the line that replaces it with the toy.
type edit struct{ file, line, with string }

// edits are all that the toy needs outside its folder.
var edits = []edit{
	{"core/mechanism/mechanism.go", "	Chaos\n)", "	Chaos\n	Quota\n)"},
	{"core/mechanism/mechanism.go", "const Kinds = int(Chaos) + 1", "const Kinds = int(Quota) + 1"},
	{"core/mechanism/mechanism.go", `"chaos"}`, `"chaos", "quota"}`},
	{"core/mechanisms/mechanisms.go", "	\"github.com/sluice-go/sluice/core/retry\"\n", "	\"github.com/sluice-go/sluice/core/quota\"\n	\"github.com/sluice-go/sluice/core/retry\"\n"},
	{"core/mechanisms/mechanisms.go", "		return hedge.Row()\n", "		return hedge.Row()\n	case mechanism.Quota:\n		return quota.Row()\n"},
	{"core/mechanisms/mechanisms.go", "		return read(hedge.Plan, v)\n", "		return read(hedge.Plan, v)\n	case mechanism.Quota:\n		return read(quota.Plan, v)\n"},
	{"core/mechanisms/mechanisms.go", "	case hedge.Config:\n		hedge.Plan(&c, v)\n", "	case quota.Config:\n		quota.Plan(&c, v)\n	case hedge.Config:\n		hedge.Plan(&c, v)\n"},
	{"core/mechanisms/mechanisms.go", "		return hedge.Docs()\n", "		return hedge.Docs()\n	case mechanism.Quota:\n		return quota.Docs()\n"},
	{"core/mechanisms/mechanisms.go", "	case hedge.Config:\n		c = c.WithDefaults()\n", "	case quota.Config:\n		p.Config, p.Traits = c, quota.Traits\n		p.Maker, err = quota.Cells(c)\n	case hedge.Config:\n		c = c.WithDefaults()\n"},
}

// sluice builds the command with the toy in it.
func sluice(t *testing.T) (binary string) { return build(t, "cmd/sluice") }

// build builds a command of a folder with the toy in it, and leaves the repository as it is.
func build(t *testing.T, folder string) (binary string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the command")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	for _, name := range []string{"quota.go", "plan.go", "row.go"} {
		replace[filepath.Join(root, "core/quota", name)] = filepath.Join(root, "internal/proof/toy/testdata/quota", name)
	}
	for _, e := range edits {
		file := filepath.Join(root, e.file)
		copied, there := replace[file]
		if !there {
			copied = filepath.Join(dir, filepath.Base(file))
			replace[file] = copied
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(copied, src, 0o600))
		}
		src, err := os.ReadFile(copied)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(src), e.line), "%s: %q", e.file, e.line)
		require.NoError(t, os.WriteFile(copied, []byte(strings.Replace(string(src), e.line, e.with, 1)), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	binary = filepath.Join(dir, "command")
	build := exec.Command("go", "build", "-overlay", file, "-o", binary, ".")
	build.Dir = filepath.Join(root, folder)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// TestToy reads documents with the toy, compiles and runs them, and reports what
// follows from them.
func TestToy(t *testing.T) {
	binary := sluice(t)
	file := filepath.Join(t.TempDir(), "toy.yaml")
	run := func(document, input string, args ...string) (out string) {
		require.NoError(t, os.WriteFile(file, []byte("version: 1\npolicies: {toy: {steps: ["+document+"]}}\n"), 0o600))
		command := exec.Command(binary, append(args, file)...)
		command.Stdin = strings.NewReader(input)
		text, _ := command.CombinedOutput()
		return strings.ReplaceAll(string(text), file, "toy.yaml")
	}
	const events = `{"at":"0s","op":"call","id":1}
{"at":"1s","op":"call","id":2}
{"at":"1s","op":"configure","policy":{"steps":[{"quota":2}]}}
{"at":"2s","op":"call","id":3}
{"at":"2s","op":"call","id":4}
`
	assert.Equal(t, `{"at":"0s","id":1,"decision":"admit","attempt":1}
{"at":"1s","id":2,"decision":"reject","step":"quota","reason":"capacity"}
{"at":"1s","decision":"configured"}
{"at":"2s","id":3,"decision":"admit","attempt":1}
{"at":"2s","id":4,"decision":"reject","step":"quota","reason":"capacity"}
`, run("quota: {calls: 1}", events, "eval", "--policy"))

	assert.Equal(t, `{"at":"0s","id":1,"decision":"admit","attempt":1}
{"at":"1s","id":2,"decision":"reject","step":"quota-2","reason":"capacity","shadow":true}
{"at":"1s","id":2,"decision":"admit","attempt":1}
`, run("quota: {calls: 2, per: key, keys: 5}, {quota: {calls: 1, shadow: true}}", strings.Join(strings.SplitAfter(events, "\n")[:2], ""), "eval", "--policy"))

	report := run("timeout: 1s, {quota: 5}, {quota: {calls: 7, per: ip, name: each}}", "", "lint")
	assert.Contains(t, report, "quota         5 calls in all\n")
	assert.Contains(t, report, "each (quota)  7 calls in all, per ip\n")

	assert.Equal(t, `toy.yaml:2:41: policies.toy.steps[0].quota.calls: found the number 1001; allowed a whole number from 1 to 1000
toy.yaml:2:47: policies.toy.steps[0].quota.call: found the unknown name "call"; allowed calls, name, shadow, when, enforce, per, keys, when_full, missing, scope, description or defaults; did you mean calls?
`, run("quota: {calls: 1001, call: 2}", "", "lint"))
}
