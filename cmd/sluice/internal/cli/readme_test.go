package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-go/sluice/lint"
)

var (
	heading = regexp.MustCompile(`(?m)^## sluice (\S+)$`)
	flagRow = regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)`(?:, `-([a-z])`)? \\|")
)

// TestReadme makes sure that README.md describes every command with all of its
// flags, and nothing that does not exist.
func TestReadme(t *testing.T) {
	readme := read(t, "../../README.md")
	sections := map[string]string{}
	places := heading.FindAllStringSubmatchIndex(readme, -1)
	for i, place := range places {
		end := len(readme)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		sections[readme[place[2]:place[3]]] = readme[place[1]:end]
	}
	for _, cmd := range newRoot(&Env{}).Commands() {
		section, ok := sections[cmd.Name()]
		delete(sections, cmd.Name())
		if !cmd.Runnable() || cmd.Name() == "help" {
			continue
		}
		if !ok {
			t.Errorf("README.md has no section of %s", cmd.Name())
			continue
		}
		if usage := "    sluice " + cmd.Use + "\n"; !strings.Contains(section, usage) {
			t.Errorf("the section of %s does not have %q", cmd.Name(), usage)
		}
		compareFlags(t, cmd, section)
	}
	for name := range sections {
		t.Errorf("README.md describes %s, which does not exist", name)
	}
}

func compareFlags(t *testing.T, cmd *cobra.Command, section string) {
	t.Helper()
	var documented, existing []string
	for _, row := range flagRow.FindAllStringSubmatch(section, -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	visitFlags(cmd, func(f *pflag.Flag) {
		if f.Name != "help" {
			existing = append(existing, f.Name+" "+f.Shorthand)
		}
	})
	slices.Sort(documented)
	slices.Sort(existing)
	existing = slices.Compact(existing) // commands below one share flags
	if !slices.Equal(documented, existing) {
		t.Errorf("%s: README.md has the flags %q, the command %q", cmd.Name(), documented, existing)
	}
}

// TestReadmeTables checks the rules and the exit codes.
func TestReadmeTables(t *testing.T) {
	readme := read(t, "../../README.md")
	for _, info := range lint.Rules() {
		severities := make([]string, len(info.Severities))
		for i, s := range info.Severities {
			severities[i] = string(s)
		}
		if row := fmt.Sprintf("| `%s` | %s: %s |\n", info.Rule, strings.Join(severities, " or "), info.Finds); !strings.Contains(readme, row) {
			t.Errorf("README.md lacks %s", row)
		}
	}
	for _, code := range []int{ExitOK, ExitWarnings, ExitBad, ExitFailed} {
		if row := fmt.Sprintf("\n| %d | ", code); strings.Count(readme, row) != 1 {
			t.Errorf("README.md does not have exit code %d once", code)
		}
		if !strings.Contains(exitCodes, fmt.Sprintf("\n  %d  ", code)) {
			t.Errorf("the help does not have exit code %d", code)
		}
	}
}

// visitFlags visits the flags of a command and of those below it.
func visitFlags(cmd *cobra.Command, f func(*pflag.Flag)) {
	cmd.PersistentFlags().VisitAll(f)
	cmd.Flags().VisitAll(f)
	for _, below := range cmd.Commands() {
		visitFlags(below, f)
	}
}

var serveLine = regexp.MustCompile(`(?m)^\s*sluice serve (--[^\n]*)$`)

// TestServeLines reads the commands of the guides, of README.md and of the help: their
// flags exist, and go together.
func TestServeLines(t *testing.T) {
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	check := func(from, text string) {
		for _, found := range serveLine.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(found[1], "--policy FILE") {
				continue // the usage
			}
			lines++
			t.Log(from)
			commandLine(t, append([]string{"serve"}, strings.Fields(found[1])...))
		}
	}
	for _, page := range pages {
		check(page, read(t, page))
	}
	if lines == 0 {
		t.Error("the guides have no commands")
	}
	check("README.md", read(t, "../../README.md"))
	check("the help", newServe(&Env{}).Example)
}

var guideFlag = regexp.MustCompile("`--([a-z0-9-]+)")

// TestFlagsOfGuides looks for the flags that the guides name among the flags of the commands.
func TestFlagsOfGuides(t *testing.T) {
	known := map[string]bool{}
	for _, cmd := range newRoot(&Env{}).Commands() {
		visitFlags(cmd, func(f *pflag.Flag) { known[f.Name] = true })
	}
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		for _, found := range guideFlag.FindAllStringSubmatch(read(t, page), -1) {
			if named++; !known[found[1]] {
				t.Errorf("%s: there is no flag --%s", page, found[1])
			}
		}
	}
	if named == 0 {
		t.Error("the guides name no flags")
	}
}

// TestVersionLine checks what is printed of a release, a commit and neither.
func TestVersionLine(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{}, "sluice (devel) go"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "sluice v1.2.3 go"},
		{debug.BuildInfo{Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef0123"), setting("vcs.time", "2026-11-21T08:00:00Z"), setting("vcs.modified", "true"),
		}}, "sluice (devel) commit 0123456789ab of 2026-11-21T08:00:00Z, modified, go"},
		{debug.BuildInfo{Settings: []debug.BuildSetting{setting("vcs.revision", "01234")}}, "sluice (devel) commit 01234, go"},
	} {
		if got := versionLine(&test.info); !strings.HasPrefix(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
