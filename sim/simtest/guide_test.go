package simtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named is a block of a page whose first line is a comment with the name of a file.
var named = regexp.MustCompile("(?ms)^```\\w+\n(?:#|//) (\\S+)\n(.*?)^```")

// shown is what a failing test prints.
var shown = regexp.MustCompile("(?ms)^```text\n(.*?)^```")

// TestGuide runs the tests of the guide, with its policy and its scenario beside them,
// and compares what they print for the policy that the guide says is wrong.
func TestGuide(t *testing.T) {
	src, err := os.ReadFile("../../docs/testing-your-code.md")
	require.NoError(t, err)
	page, dir := string(src), t.TempDir()
	test := []string{"test", "-v"}
	for _, block := range named.FindAllStringSubmatch(page, -1) {
		file := filepath.Join(dir, block[1])
		require.NoError(t, os.WriteFile(file, []byte(block[2]), 0o600))
		if filepath.Ext(file) == ".go" {
			test = append(test, file)
		}
	}
	out, err := exec.Command("go", test...).CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Contains(t, string(out), "--- PASS: TestVendorPolicy")
	assert.Contains(t, string(out), "--- PASS: TestVendorClient")

	file := filepath.Join(dir, "policy.yaml")
	policy, err := os.ReadFile(file)
	require.NoError(t, err)
	wrong := strings.Replace(string(policy), "window: {calls: 50}, minimum: 20", "window: {calls: 400}, minimum: 200", 1)
	require.NoError(t, os.WriteFile(file, []byte(wrong), 0o600))
	out, err = exec.Command("go", append(test, "-run", "VendorPolicy")...).CombinedOutput()
	require.Error(t, err)
	for line := range strings.Lines(shown.FindStringSubmatch(page)[1]) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "...")
		assert.Contains(t, string(out), line)
	}
}
