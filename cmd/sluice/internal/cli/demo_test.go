package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/cmd/sluice/internal/demo"
)

// runDemo runs the command alone, under a root of the name of the real one.
func runDemo(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	env := &Env{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err}
	root := &cobra.Command{Use: "sluice", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newDemo(env))
	root.SetArgs(append([]string{"demo"}, args...))
	code = env.report(root.Execute())
	return code, out.String(), err.String()
}

func TestDemoUsage(t *testing.T) {
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"--duration", "100ms"}, "sluice: --duration 100ms is not between 1s and 2m0s (see sluice demo --help)\n"},
		{"", []string{"--duration", "1h"}, "sluice: --duration 1h0m0s is not between 1s and 2m0s (see sluice demo --help)\n"},
		{"", []string{"--html", "a.html", "--no-html"}, "sluice: --html and --no-html contradict each other (see sluice demo --help)\n"},
		{"", []string{"--html", ""}, "sluice: --html needs a file; --no-html writes none (see sluice demo --help)\n"},
		{"", []string{"--name", "a"}, "sluice: --name needs --policy FILE (see sluice demo --help)\n"},
		{"", []string{"--policy", "missing.yaml"}, "sluice: cannot read missing.yaml: no such file or directory\n"},
		{"version: 1\npolicies: {a: {steps: [timeout: 3s]}, b: {steps: [timeout: 3s]}}", []string{"--policy", "-"},
			"sluice: standard input has 2 policies; choose one with --name: a, b\n"},
	} {
		code, stdout, stderr := runDemo(c.stdin, c.args...)
		require.Equal(t, ExitBad, code)
		require.Empty(t, stdout)
		require.Equal(t, c.want, stderr)
	}
}

// TestDemoTime compares the time that texts name with the time of the scenario.
func TestDemoTime(t *testing.T) {
	s := demo.NewScenario(1, demo.DefaultDuration)
	takes := fmt.Sprintf("takes %.0f seconds", s.Total().Seconds())
	parts := fmt.Sprintf("calls come for %.0f, and the last of them may take %.0f more", s.Duration.Seconds(), s.Drain.Seconds())
	for name, text := range map[string]string{"help": newDemo(&Env{}).Long, "cmd/sluice/README": read(t, "../../README.md")} {
		require.Contains(t, text, takes, name)
		require.Contains(t, text, parts, name)
	}
	require.Contains(t, read(t, "../../../../README.md"), "The demo "+takes)
	require.Contains(t, read(t, "../../../../Makefile"), fmt.Sprintf("(%.0f s)", s.Total().Seconds()))
}

// TestDemoCannotWrite runs the whole command in short: the table is there, the
// page is not.
func TestDemoCannotWrite(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "missing", "page.html")
	code, stdout, stderr := runDemo("", "--duration", "1s", "--html", name)
	require.Equal(t, ExitFailed, code)
	require.Contains(t, stdout, "good answers (goodput)")
	require.NotContains(t, stdout, "page with charts")
	require.Equal(t, "sluice: cannot write "+name+": no such file or directory\n", stderr)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
