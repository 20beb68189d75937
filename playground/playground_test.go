// Package playground_test runs the browser test of the playground as a test of the
// workspace.
package playground_test

import (
	"os/exec"
	"testing"
)

// TestPage builds the playground and drives it in a browser. Without one, what needs
// it is skipped.
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on PATH: install Node 20 or newer to test the playground", program)
		}
	}
	for _, args := range [][]string{
		{"install", "--no-audit", "--no-fund", "--loglevel=error"}, {"run", "--silent", "build"}, {"test", "--silent"},
	} {
		if out, err := exec.CommandContext(t.Context(), "npm", args...).CombinedOutput(); err != nil {
			t.Fatalf("npm %v: %v\n%s", args, err, out)
		}
	}
}
