package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
)

const dir = ".."

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{dir}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// glob returns the names of the files of a pattern in a folder, which are not none.
func glob(t *testing.T, folder, pattern string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		name, err := filepath.Rel(folder, path)
		require.NoError(t, err)
		names = append(names, filepath.ToSlash(name))
	}
	return names
}

// TestFiles compares the pages and their pictures with what the command writes, and
// looks for pictures and scenarios that no page shows.
func TestFiles(t *testing.T) {
	for _, folder := range []string{dir, filepath.Join(dir, "..")} {
		files, err := draw(folder)
		require.NoError(t, err)
		for name, text := range files {
			now, err := os.ReadFile(filepath.Join(folder, name))
			require.NoError(t, err)
			assert.True(t, string(text) == string(now), "%s: run make generate and read the difference", name)
		}
		drawn := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return !strings.HasSuffix(name, ".svg") })
		assert.Equal(t, glob(t, folder, "pictures/*"), drawn)
		all := ""
		for _, page := range glob(t, folder, "*.md") {
			all += string(files[page])
		}
		for _, name := range glob(t, folder, "scenarios/*") {
			assert.Contains(t, all, "("+name+")")
		}
	}
}

// TestChanges changes pages and the scenario behind them: the command has to notice.
func TestChanges(t *testing.T) {
	page, scenario := read(t, "timeout.md"), read(t, "scenarios", "timeout.yaml")
	files := func(page, scenario string) (map[string][]byte, error) {
		at := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(at, "scenarios"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(at, "scenarios", "timeout.yaml"), []byte(scenario), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(at, "timeout.md"), []byte(page), 0o600))
		return draw(at)
	}
	same, err := files(page, scenario)
	require.NoError(t, err)
	assert.Equal(t, page, string(same["timeout.md"]))
	changed, err := files(page, strings.Replace(scenario, "[1, 10s]", "[1, 9s]", 1))
	require.NoError(t, err)
	assert.NotEqual(t, page, string(changed["timeout.md"]))
	assert.NotEqual(t, same["pictures/timeout.svg"], changed["pictures/timeout.svg"])

	short := strings.Replace(scenario, "duration: 10m", "duration: 40s", 1)
	for text, want := range map[string]string{
		"<!-- figure timeout: guarded ok --><!-- end -->":                     "",
		"<!-- figure timeout: other ok --><!-- end -->":                       "found no client other",
		"<!-- figure timeout: guarded okay --><!-- end -->":                   "found no figure guarded okay",
		"<!-- figure timeout: guarded recovery --><!-- end -->":               "found no figure guarded recovery",
		"<!-- figure timeout: guarded latency.p99% --><!-- end -->":           "guarded latency.p99%: found no share",
		"<!-- table timeout: without, guarded: ok, okay -->\n<!-- end -->":    "found no figure okay",
		"<!-- table timeout: without, guarded -->\n<!-- end -->":              "allowed: clients, a colon and figures",
		"<!-- table other: without: ok -->\n<!-- end -->":                     "other.yaml",
		"<!-- picture timeout: guarded queue -->\n![queue](pictures/q.svg)":   "found guarded queue",
		"<!-- picture timeout: guarded calls -->\ntext\n<!-- end -->":         "found no picture behind it",
		"<!-- figure timeout, guarded ok -->56035<!-- end -->":                "found 1 comments, of which 0",
		"<!-- figure timeout: guarded ok -->56035":                            "found 1 comments, of which 0",
		"<!-- picture timeout: guarded calls -->\n![calls](pictures/a.svg)\n": "",
	} {
		_, err := files(text, short)
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

var (
	snippet   = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	shown     = regexp.MustCompile(`<!-- \w+ ([a-z-]+):`)
	guarantee = regexp.MustCompile(`\*\*([A-Z]\d+)\*\*`)
	section   = regexp.MustCompile(`(?m)^## (.*)$`)
)

// TestPages checks that each guide has all sections, that it shows a scenario with its
// policies, without a warning of lint, and that its guarantees are in GUARANTEES.md.
func TestPages(t *testing.T) {
	table := read(t, "README.md")
	guarantees := read(t, "..", "..", "GUARANTEES.md")
	for _, page := range glob(t, dir, "*.md") {
		text := read(t, page)
		blocks := snippet.FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, blocks, page)
		for _, block := range blocks {
			doc, err := policy.Parse(page, []byte(block[1]))
			require.NoError(t, err, page)
			checkPolicies(t, page, text, doc)
		}
		if page == "README.md" {
			continue
		}
		assert.Contains(t, table, "("+page+")")
		var sections []string
		for _, m := range section.FindAllStringSubmatch(text, -1) {
			sections = append(sections, m[1])
		}
		assert.Equal(t, []string{
			"What happens", "Formula", "Guarantees", "Choosing the numbers", "How it fails", "When not to use it", "Other libraries", "Source",
		}, sections, page)
		names := guarantee.FindAllStringSubmatch(text, -1)
		assert.NotEmpty(t, names, page)
		for _, name := range names {
			assert.Contains(t, guarantees, "| **"+name[1]+"** |", page)
		}
	}
}

// checkPolicies checks the policies of a block of a page.
func checkPolicies(t *testing.T, page, text string, doc *policy.Document) {
	t.Helper()
	scenarios := shown.FindAllStringSubmatch(text, -1)
	for i := range doc.Policies {
		p := &doc.Policies[i]
		for _, finding := range lint.CheckPolicy(p).Findings {
			if finding.Rule != lint.Chaos { // the page about drills has one
				assert.NotEqual(t, lint.Warning, finding.Severity, "%s: %s", page, finding.Message)
			}
		}
		if len(scenarios) == 0 {
			continue
		}
		found := slices.ContainsFunc(scenarios, func(m []string) bool {
			s, err := sim.Load(filepath.Join(dir, "scenarios", m[1]+".yaml"))
			require.NoError(t, err)
			return slices.ContainsFunc(s.Policies, func(one policy.Policy) bool {
				return assert.ObjectsAreEqual(one.Policy, p.Policy)
			})
		})
		assert.True(t, found, "%s: no scenario of the page has the policy %s", page, p.Name)
	}
}
