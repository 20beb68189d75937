// Package examples runs the example programs.
package examples

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/internal/envoy"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/proxywasm/config"
)

// TestExamples runs every program and looks for what it is there to show.
func TestExamples(t *testing.T) {
	shows := map[string]string{
		"limiter":     "four calls at once, allowed: [true true true false]",
		"httpclient":  "refused by the breaker: open",
		"httpserver":  "tenant a: 429",
		"workerpool":  "jobs done: 100",
		"virtualtime": "open",
		"envoy":       "tenant b: 10 times 200, 5 times 429; Retry-After: ",
	}
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		name := folder.Name()
		if name == "browser" {
			continue // of the npm package, whose tests drive it
		}
		t.Run(name, func(t *testing.T) {
			if _, err := envoy.Binary(); name == "envoy" && err != nil {
				t.Skip(err)
			}
			out, err := exec.Command("go", "run", "./"+name).CombinedOutput()
			if want := shows[name]; err != nil || want == "" || !strings.Contains(string(out), want) {
				t.Errorf("%v: %q is not shown:\n%s", err, want, out)
			}
		})
	}
}

// TestEnvoyFiles finds policy.yaml in each of the configurations of the filter, and
// nothing in it that the filter does not perform.
func TestEnvoyFiles(t *testing.T) {
	src, err := os.ReadFile("envoy/policy.yaml")
	require.NoError(t, err)
	doc, err := policy.Parse("policy.yaml", src)
	require.NoError(t, err)
	assert.Empty(t, config.Check("policy.yaml", doc))
	var want any
	require.NoError(t, yaml.Unmarshal(src, &want))
	for file, find := range map[string]func(root any) any{
		"envoy.yaml": func(root any) any {
			hcm := at(root, "static_resources", "listeners", 0, "filter_chains", 0, "filters", 0, "typed_config")
			text := at(hcm, "http_filters", 0, "typed_config", "config", "configuration", "value")
			var plain any
			require.NoError(t, yaml.Unmarshal([]byte(text.(string)), &plain))
			return plain
		},
		"envoy-gateway.yaml": func(root any) any { return at(root, "spec", "wasm", 0, "config") },
		"istio.yaml":         func(root any) any { return at(root, "spec", "pluginConfig") },
	} {
		src, err := os.ReadFile("envoy/" + file)
		require.NoError(t, err)
		var root any
		require.NoError(t, yaml.Unmarshal(src, &root))
		assert.Equal(t, want, find(root), file)
	}
}

// at follows names and positions.
func at(node any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			node = node.(map[string]any)[step]
		case int:
			node = node.([]any)[step]
		}
	}
	return node
}
