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

	"github.com/sluice-go/sluice/internal/mechanismtable"
)

// edit is a line of a file of the repository, and the line that replaces it with the toy.
type edit struct{ file, line, with string }

// edits are all that the toy needs outside its folder by hand: a name, and what it compiles
// to. The table of the mechanisms is generated from its row.
var edits = []edit{
	{"core/mechanism/mechanism.go", "	kinds\n)", "	Quota\n	kinds\n)"},
	{"core/mechanism/mechanism.go", `"chaos"}`, `"chaos", "quota"}`},
	{"core/mechanisms/mechanisms.go", "	\"github.com/sluice-go/sluice/core/retry\"\n", "	\"github.com/sluice-go/sluice/core/quota\"\n	\"github.com/sluice-go/sluice/core/retry\"\n"},
	{"core/mechanisms/mechanisms.go", "	case hedge.Config:\n		c = c.WithDefaults()\n", "	case quota.Config:\n		p.Config, p.Traits = c, quota.Traits\n		p.Maker, err = quota.Cells(c)\n	case hedge.Config:\n		c = c.WithDefaults()\n"},
}

// overlay is what has the toy in it, and leaves the repository as it is.
func overlay(t *testing.T, root string) (file string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	toy := filepath.Join(root, "internal/proof/toy/testdata")
	for _, name := range []string{"quota.go", "plan.go", "row.go"} {
		replace[filepath.Join(root, "core/quota", name)] = filepath.Join(toy, "quota", name)
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
	entries, err := mechanismtable.Entries(root)
	require.NoError(t, err)
	row, err := os.ReadFile(filepath.Join(toy, "quota/row.go"))
	require.NoError(t, err)
	entry, ok := mechanismtable.EntryOf(row)
	require.True(t, ok)
	table, err := mechanismtable.Write(append(entries, entry))
	require.NoError(t, err)
	replace[filepath.Join(root, mechanismtable.File)] = filepath.Join(dir, "table_gen.go")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "table_gen.go"), table, 0o600))
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file = filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// build builds a command with the toy in it.
func build(t *testing.T, folder string) (binary string) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the command")
	}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	binary = filepath.Join(t.TempDir(), "command")
	build := exec.Command("go", "build", "-overlay", overlay(t, root), "-o", binary, ".")
	build.Dir = filepath.Join(root, folder)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// TestToy reads documents with the toy, compiles and runs them, and reports what
// follows from them.
func TestToy(t *testing.T) {
	binary := build(t, "cmd/sluice")
	file := filepath.Join(t.TempDir(), "toy.yaml")
	proxy := ""
	run := func(document, input string, args ...string) (out string) {
		require.NoError(t, os.WriteFile(file, []byte("version: 1\npolicies: {toy: {steps: ["+document+"]}}\n"+proxy), 0o600))
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

	// The filter of a proxy asks its cells, each worker its own; what it does not perform it says.
	assert.Contains(t, run("quota: 5", "", "envoy"), "a step whose cells no store keeps")
	proxy = "proxy: {state: worker}\n"
	assert.Contains(t, run("quota: 5", "", "envoy"), `"quota"`)
	assert.Contains(t, run("timeout: 1s, quota: 5", "", "envoy"), "allowed breaker, limit, bulkhead and quota; timeout of an Envoy route")
	proxy = ""

	// Its own rule, and one that asks what its row says.
	report = run("timeout: 1s, {quota: 1}", "", "lint")
	assert.Contains(t, report, "quota admits one call in all")
	assert.Contains(t, report, "past quota              1   1   1")
	assert.Contains(t, run("timeout: 1s, {quota: {calls: 5, per: 'header:x-user', keys: 10}}", "", "lint"), "50 permits at once from 10 cells of 5")

	newer := filepath.Join(t.TempDir(), "newer.yaml")
	require.NoError(t, os.WriteFile(newer, []byte("version: 1\npolicies: {toy: {steps: [quota: 9]}}\n"), 0o600))
	require.NoError(t, os.WriteFile(file, []byte("version: 1\npolicies: {toy: {steps: [quota: 5]}}\n"), 0o600))
	text, _ := exec.Command(binary, "lint", file, newer).CombinedOutput()
	assert.Contains(t, string(text), "looser   calls                          5 -> 9")

	text, _ = exec.Command(binary, "schema", "quota.calls").CombinedOutput()
	assert.Equal(t, `quota.calls
  meaning  how many calls pass in all
  type     number
  range    1 to 1000
  default  required
  example  calls: 5
  larger   more calls pass
  smaller  fewer calls pass
`, string(text))
}

// TestTour reads the metrics of a pipeline with the toy, and the picture of a simulation.
func TestTour(t *testing.T) {
	text, err := exec.Command(build(t, "internal/proof/toy/testdata/tour")).CombinedOutput()
	require.NoError(t, err, string(text))
	assert.Equal(t, `sluice_free{toy quota} 4
sluice_decisions_total{toy quota reject capacity false} 0
quota: at most 5 free, 4 at the beginning, 0 at the end
`, string(text))
}
