package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Long:              "version prints the version, the commit it was built from where that is known, and\nthe Go version, as sluice --version does.",
		Example:           "  sluice version",
		Args:              withArgs(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(*cobra.Command, []string) error { return printVersion(env) },
	}
}

func printVersion(env *Env) error {
	return env.print(fmt.Appendln(nil, versionLine(buildInfo())))
}

// buildInfo says from what this program was built, as far as that is known.
func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{}
}

// release names the program with its version.
func release(info *debug.BuildInfo) string {
	if info.Main.Version == "" {
		return "sluice (devel)"
	}
	return "sluice " + info.Main.Version
}

// versionLine is the version, the commit and the platform in one line.
func versionLine(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := ""
	if revision := settings["vcs.revision"]; revision != "" {
		commit = " commit " + revision[:min(12, len(revision))]
		if at := settings["vcs.time"]; at != "" {
			commit += " of " + at
		}
		if settings["vcs.modified"] == "true" {
			commit += ", modified"
		}
		commit += ","
	}
	return fmt.Sprintf("%s%s %s %s/%s", release(info), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
