//go:build !race

package apitest_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
)

// files returns the files of the repository, without what is built or installed.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", ".idea", ".vscode", "bin", "dist", "node_modules"}, d.Name()):
			return filepath.SkipDir
		case d.Type().IsRegular():
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// pages returns the Markdown files of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	found := slices.DeleteFunc(files(t), func(path string) bool { return !strings.HasSuffix(path, ".md") })
	if len(found) == 0 {
		t.Fatal("found no pages")
	}
	return found
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```")

// TestSnippets compiles the programs of the pages, and reads their policies and
// scenarios: YAML that begins with a version, with clients in scenarios.
func TestSnippets(t *testing.T) {
	counts := map[string]int{}
	for _, page := range pages(t) {
		for _, block := range fence.FindAllStringSubmatch(read(t, page), -1) {
			switch {
			case block[1] == "yaml" && strings.HasPrefix(block[2], "version:") && strings.Contains(block[2], "\nclients:\n"):
				if _, err := sim.Parse(page, []byte(block[2]), nil); err != nil {
					t.Errorf("%s: %v\n%s", page, err, block[2])
				}
			case block[1] == "yaml" && strings.HasPrefix(block[2], "version:"):
				if _, err := policy.Parse(page, []byte(block[2])); err != nil {
					t.Errorf("%s: %v\n%s", page, err, block[2])
				}
			case block[1] == "go" && strings.HasPrefix(block[2], "package main"):
				file := filepath.Join(t.TempDir(), "main.go")
				if err := os.WriteFile(file, []byte(block[2]), 0o600); err != nil {
					t.Fatal(err)
				}
				if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s\n%s", page, err, out, block[2])
				}
			default:
				continue
			}
			counts[block[1]+" of "+page]++
		}
	}
	for _, want := range []string{"go of README.md", "yaml of README.md", "yaml of docs/from-nginx.md", "yaml of docs/from-envoy.md", "yaml of docs/grpc.md", "yaml of docs/simulation.md", "go of docs/events.md", "go of docs/observability.md", "yaml of docs/document.md"} {
		assert.Positive(t, counts[want], want)
	}
}

// TestDocumentGuide compares what the guide says is resolved of its last document, and what
// it says of a default that does not fit.
func TestDocumentGuide(t *testing.T) {
	page := read(t, "docs/document.md")
	var last, resolved string
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		switch block[1] {
		case "yaml":
			last = block[2]
		case "text":
			resolved = block[2]
		}
	}
	plain, err := policy.Resolved("document.md", []byte(last))
	require.NoError(t, err)
	assert.Equal(t, resolved, string(plain))
	before, err := policy.Parse("before.yaml", []byte(last))
	require.NoError(t, err)
	after, err := policy.Parse("after.yaml", plain)
	require.NoError(t, err)
	assert.Empty(t, lint.Compare(before, after))
	_, err = policy.Parse("p.yaml", []byte("version: 1\ndefaults: {limit: {burst: 5}}\npolicies: {a: {steps: [limit: {rate: 5/s, algorithm: sliding-log}]}}\n"))
	assert.EqualError(t, err, "p.yaml:2:20: defaults.limit.burst: found burst beside sliding-log, taken by policies.a.steps[0]; allowed burst beside token-bucket alone")
}

// TestFromNginx counts what the policies of the page for users of nginx do with 40
// requests at one instant.
func TestFromNginx(t *testing.T) {
	block := fence.FindStringSubmatch(read(t, "docs/from-nginx.md"))
	document, err := policy.Parse("from-nginx.md", []byte(block[2]))
	require.NoError(t, err)
	var calls strings.Builder
	for i := range 40 {
		fmt.Fprintf(&calls, `{"at":"0s","op":"call","id":%d,"attributes":{"ip":"192.0.2.1"}}`+"\n", i)
	}
	for name, want := range map[string]map[string]int{
		"plain": {"admit": 1, "reject": 39}, "burst": {"admit": 21, "reject": 19}, "delayed": {"admit": 1, "wait": 20, "reject": 19},
	} {
		i := slices.IndexFunc(document.Policies, func(p policy.Policy) bool { return p.Policy.Name == name })
		var log strings.Builder
		require.NoError(t, eval.Run(document.Policies[i].Policy, eval.Options{}, strings.NewReader(calls.String()), &log))
		got := map[string]int{}
		for line := range strings.Lines(log.String()) {
			var decision struct{ Decision string }
			require.NoError(t, json.Unmarshal([]byte(line), &decision))
			got[decision.Decision]++
		}
		assert.Equal(t, want, got, name)
	}
}

var (
	link    = regexp.MustCompile(`(?:\]\(|srcset="|src=")([^)"#\s]*)(?:#([^)"\s]+))?`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	unnamed = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names under which the headings of a page are linked to.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		names[strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return names
}

// TestLinks follows the links between pages and to files. Those that leave the
// repository are not followed.
func TestLinks(t *testing.T) {
	assert.Equal(t, map[string]bool{"a-b-c-1x": true}, anchors("text\n## A `B`-c, 1x\n"))
	for _, page := range pages(t) {
		text := fence.ReplaceAllString(read(t, page), "")
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor := filepath.Join(filepath.Dir(page), found[1]), found[2]
			if strings.Contains(found[1], "://") {
				continue
			}
			if found[1] == "" {
				target = page
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if anchor != "" && !anchors(read(t, target))[anchor] {
				t.Errorf("%s: %s has no heading %s", page, target, anchor)
			}
		}
	}
}

// mention is a page in a text, with a heading behind its name or without.
var mention = regexp.MustCompile(`[\w./:@-]*\w\.md\b(?:#([\w-]+))?`)

// missing returns the pages and headings that a text of a folder cites and that
// are not among the pages. A page is cited by its path from the folder or from
// the root, or by its name without a path. Addresses of other sites are skipped.
func missing(t *testing.T, folder, text string, pages []string) (cited []string) {
	t.Helper()
	for _, found := range mention.FindAllStringSubmatch(text, -1) {
		name, _, _ := strings.Cut(found[0], "#")
		if strings.Contains(name, "://") {
			continue
		}
		at := slices.IndexFunc(pages, func(page string) bool {
			return page == filepath.Join(folder, name) || page == filepath.Clean(name)
		})
		if at < 0 && !strings.Contains(name, "/") {
			at = slices.IndexFunc(pages, func(page string) bool { return filepath.Base(page) == name })
		}
		if at < 0 || found[1] != "" && !anchors(read(t, pages[at]))[found[1]] {
			cited = append(cited, found[0])
		}
	}
	return cited
}

// TestCitations looks for the pages, and their headings, that any file cites: in
// texts, in comments and in messages.
func TestCitations(t *testing.T) {
	all := pages(t)
	const none = "NOWHERE" + ".md"
	for text, want := range map[string][]string{
		"See README.md and ../" + "eval/REFERENCE.md#events.": nil,
		"https://example.com/" + none:                         nil,
		"// Source: " + none + ", a section.":                 {none},
		"[text](" + none + "#part)":                           {none + "#part"},
		"policy/REFERENCE.md" + "#nowhere":                    {"policy/REFERENCE.md" + "#nowhere"},
		"eval/" + "GUARANTEES.md":                             {"eval/" + "GUARANTEES.md"},
	} {
		assert.Equal(t, want, missing(t, "policy", text, all), text)
	}
	for _, path := range files(t) {
		text := read(t, path)
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			continue
		}
		for _, cited := range missing(t, filepath.Dir(path), text, all) {
			t.Errorf("%s cites %s, which is not in the repository", path, cited)
		}
	}
}

// unclear are words that a reader with English as a second language may not know,
// or that have no subject: a caller, a waiter or a listener waits, is cancelled or
// is called; a policy is active. The brackets keep the pattern from matching itself.
var unclear = regexp.MustCompile(`(?i)\b(?:(?:no|some|any)bod[y]|whoeve[r]|in vai[n]|in forc[e]|of befor[e]|tells o[f])\b`)

// relative are the words of comments that say what a thing is by another thing instead of its
// name. A sentence repeats the noun: "the error of the context".
var relative = regexp.MustCompile(`(?i)\b(?:(?:that|those) o[f]\b|(?:is|are) (?:[\w.]+ )?in plac[e](?:[.,;:]|$))`)

// script finds the comments of TypeScript and JavaScript, lines behind each other as one.
var script = regexp.MustCompile(`(?s)/\*.*?\*/|(?:(?:^|\s)//[^\n]*(?:\n[ \t]*//[^\n]*)*)`)

// comments returns the comments of a file of Go, TypeScript or JavaScript.
func comments(t *testing.T, path, text string) (found []string) {
	t.Helper()
	if !strings.HasSuffix(path, ".go") {
		for _, comment := range script.FindAllString(text, -1) {
			found = append(found, lineBreak.ReplaceAllString(comment, " "))
		}
		return found
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err, path)
	for _, comment := range file.Comments {
		found = append(found, lineBreak.ReplaceAllString(strings.TrimSpace(comment.Text()), " "))
	}
	return found
}

var lineBreak = regexp.MustCompile(`\n\s*(?://|\*|#)?\s*`)

// prose returns the text of a file that people read: in Go comments and strings, in
// other files everything.
func prose(t *testing.T, path, text string) (found []string) {
	t.Helper()
	if !strings.HasSuffix(path, ".go") {
		return []string{lineBreak.ReplaceAllString(text, " ")}
	}
	found = comments(t, path, text)
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	require.NoError(t, err, path)
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			found = append(found, literal.Value)
		}
		return true
	})
	return found
}

// TestWords checks that no text, comment or message has an unclear word, and no comment a
// relative one.
func TestWords(t *testing.T) {
	const word = "nobo" + "dy"
	for text, want := range map[string]bool{
		"package p\n\n// " + word + " waits\nvar v int":           true,
		"package p\n\n// a rule in\n// " + "force\nvar v int":     true,
		"package p\n\nvar v = \"" + word + "\"":                   true,
		"package p\n\nvar " + word + " int":                       false,
		"package p\n\n// a rule in\n// enforcement\nvar v = `in`": false,
	} {
		assert.Equal(t, want, slices.ContainsFunc(prose(t, "p.go", text), unclear.MatchString), text)
	}
	assert.True(t, unclear.MatchString(prose(t, "p.ts", " * the rule in\n * "+"force")[0]))
	for _, one := range []struct {
		path, text string
		want       bool
	}{
		{"p.go", "package p\n\n// v is that\n// of w\nvar v int", true},
		{"p.go", "package p\n\nvar v int // as those of w", true},
		{"p.go", "package p\n\n/* v is\nthat of w */\nvar v int", true},
		{"p.go", "package p\n\n// Begin is Init in place.\nvar v int", true},
		{"p.go", "package p\n\n// Begin is Init in place\nvar v int", true},
		{"p.go", "package p\n\n// v is a state in place of w, and changes in place.\nvar v int", false},
		{"p.go", "package p\n\n// v, that offers w\nvar v = `that of w`", false},
		{"p.ts", "/** v is that\n * of w */", true},
		{"p.ts", "let v; // those\n  // of w", true},
		{"p.mjs", "// The name, that of w\nlet v;", true},
		{"p.ts", "/** A name. */ let v = 'that of w';\nlet w = 'http://that of w';", false},
		{"p.ts", "// not that\nlet of = 1;", false},
	} {
		assert.Equal(t, one.want, slices.ContainsFunc(comments(t, one.path, one.text), relative.MatchString), one.text)
	}
	for _, path := range files(t) {
		if !slices.Contains([]string{".go", ".html", ".js", ".md", ".mjs", ".sh", ".ts", ".txt"}, filepath.Ext(path)) {
			continue
		}
		text := read(t, path)
		check := func(texts []string, wrong *regexp.Regexp, advice string) {
			for _, text := range texts {
				if at := wrong.FindStringIndex(text); at != nil {
					t.Errorf("%s: %q in %q: %s", path, text[at[0]:at[1]], text[max(0, at[0]-30):min(len(text), at[1]+30)], advice)
				}
			}
		}
		check(prose(t, path, text), unclear, "write it in the field's terms")
		// The comments of the generated settings are the texts of the rows, which are strings.
		if slices.Contains([]string{".go", ".js", ".mjs", ".ts"}, filepath.Ext(path)) && path != "js/src/generated/settings.ts" {
			check(comments(t, path, text), relative, "name the thing")
		}
	}
}

var figures = regexp.MustCompile(`(?s)<!-- bench:begin -->\n.*?\n\|[-|]+\|\n(.*?)<!-- bench:end -->`)

// TestFigures finds the rows of README's figures among the results that go run
// ./bench has written: all columns but bytes and targets.
func TestFigures(t *testing.T) {
	known := map[string]bool{}
	for line := range strings.Lines(read(t, "bench/RESULTS.md")) {
		if c := strings.Split(strings.TrimSpace(line), " | "); len(c) == 10 {
			known[strings.Join(slices.Concat(c[:2], c[3:6], c[7:9]), " | ")+" |"] = true
		}
	}
	block := figures.FindStringSubmatch(read(t, "README.md"))
	if block == nil || strings.Count(block[1], "\n") < 10 {
		t.Fatalf("found %q", block)
	}
	for line := range strings.Lines(block[1]) {
		if !known[strings.TrimSpace(line)] {
			t.Errorf("not in bench/RESULTS.md, run make bench: %s", line)
		}
	}
}
