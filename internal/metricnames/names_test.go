package metricnames_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/metricnames"
)

var rewrite = flag.Bool("rewrite", false, "write the table")

// TestConventions derives the names of Prometheus as exporters of OpenTelemetry do.
func TestConventions(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range metricnames.All() {
		want := strings.ReplaceAll(m.Name, ".", "_")
		for unit, suffix := range map[string]string{"s": "_seconds", "By": "_bytes"} {
			if m.Unit == unit && !strings.HasSuffix(want, suffix) {
				want += suffix
			}
		}
		if m.Kind == metricnames.Counter {
			want += "_total"
		}
		assert.Equal(t, want, m.Prometheus)
		assert.False(t, seen[m.Name], m.Name)
		seen[m.Name] = true
		assert.True(t, strings.HasSuffix(m.Help, "."), m.Help)
		assert.NotEmpty(t, m.In, m.Name)
	}
}

// TestTable compares the table with the file that the tests of the package for JavaScript
// read.
func TestTable(t *testing.T) {
	const file = "testdata/metrics.json"
	got, err := json.MarshalIndent(metricnames.All(), "", "  ")
	require.NoError(t, err)
	got = append(got, '\n')
	if *rewrite {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test ./internal/metricnames -rewrite renews the file")
}

// TestGuide finds every metric in the table of the guide.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../../docs/observability.md")
	require.NoError(t, err)
	for _, m := range metricnames.All() {
		row := "| `" + m.Prometheus + "` | `" + m.Name + "` | " + string(m.Kind) + ", " + m.Unit + " | " + strings.Join(m.Labels, ", ") + " |"
		assert.Contains(t, string(page), row)
	}
}
