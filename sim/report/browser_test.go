package report_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/sim/report"
)

// TestPageInABrowser runs the tests of the page: its cursor, keys, zoom, colours and
// width.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on PATH: install Node 20 or newer to test the page", program)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(page, []byte(pageOf(t, "storm", func(*report.Page) {})), 0o644))
	for _, args := range [][]string{
		{"install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"},
		{"run", "--silent", "check"},
		{"test", "--silent"},
	} {
		cmd := exec.CommandContext(t.Context(), "npm", args...)
		cmd.Dir = "page"
		cmd.Env = append(cmd.Environ(), "PAGE="+page)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "npm %v: %s", args, out)
	}
}
