package sim_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryProductIsRounded: arm64 multiplies and adds in one instruction with one
// rounding, where the source does not forbid it, and amd64 and wasm do not. So the
// compiler for arm64 finds such an instruction nowhere in the simulator.
func TestEveryProductIsRounded(t *testing.T) {
	fused := regexp.MustCompile(`\tFN?M(?:ADD|SUB)[DS]\t`)
	compile := func(what string) []byte {
		build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-S", what)
		build.Env = append(build.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
		listing, err := build.CombinedOutput()
		require.NoError(t, err, "%s", listing)
		return listing
	}
	listing := compile("./...")
	require.Contains(t, string(listing), "\tFMULD\t")
	for _, line := range regexp.MustCompile(`.*\n`).FindAll(listing, -1) {
		assert.NotRegexp(t, fused, string(line))
	}
	assert.Regexp(t, fused, string(compile("./testdata/fused")), "the pattern finds what it looks for")
}
