package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(env *Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Long:              "version prints the version, the commit it was built from where that is known, and\nthe Go version, as sluice --version does. With --json it prints an object of version,\ncommit, time, modified, go, os and arch; what is not known is empty.",
		Example:           "  sluice version\n  sluice version --json",
		Args:              withArgs(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				text, err := json.MarshalIndent(versionOf(buildInfo()), "", "  ")
				if err != nil {
					return err
				}
				return env.print(append(text, '\n'))
			}
			return printVersion(env)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// versionInfo is what is known of the version, and its JSON.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Time     string `json:"time"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func versionOf(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: info.Main.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
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
func release(info *debug.BuildInfo) string { return "sluice " + versionOf(info).Version }

// versionLine is the version, the commit and the platform in one line.
func versionLine(info *debug.BuildInfo) string {
	v := versionOf(info)
	commit := ""
	if v.Commit != "" {
		commit = " commit " + v.Commit[:min(12, len(v.Commit))]
		if v.Time != "" {
			commit += " of " + v.Time
		}
		if v.Modified {
			commit += ", modified"
		}
		commit += ","
	}
	return fmt.Sprintf("%s%s %s %s/%s", release(info), commit, v.Go, v.OS, v.Arch)
}
