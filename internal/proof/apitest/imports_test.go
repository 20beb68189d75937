package apitest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestImports: the library needs nothing of the hosts for wasm, of the simulator, of the
// decision log or of the commands, and one module of others, which reads YAML.
func TestImports(t *testing.T) {
	const own = "github.com/sluice-go/sluice"
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	all := strings.Fields(string(out))
	require.Contains(t, all, own)
	for _, path := range all {
		folder, is := strings.CutPrefix(path, own)
		if !is {
			assert.True(t, strings.HasPrefix(path, "go.yaml.in/yaml/v4"), path)
			continue
		}
		for _, other := range []string{"wasm", "proxywasm", "sim", "eval", "lint", "vectors", "cmd", "bench"} {
			assert.False(t, folder == "/"+other || strings.HasPrefix(folder, "/"+other+"/"), path)
		}
	}
}

// TestModules: no package and no test of the library's module needs another module of the
// repository: these require the library.
func TestModules(t *testing.T) {
	const own = "github.com/sluice-go/sluice"
	out, err := exec.Command("go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}} {{$.ImportPath}}{{end}}", "./...").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), own+" "+own+"\n")
	for line := range strings.Lines(string(out)) {
		module, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		assert.False(t, strings.HasPrefix(module, own+"/"), "%s of %s", path, module)
	}
}
