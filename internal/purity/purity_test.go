package purity_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/internal/purity"
)

// TestTree checks the real core by the rules.
func TestTree(t *testing.T) {
	t.Parallel()
	findings := check(t, filepath.Join("..", ".."))
	for _, finding := range findings {
		t.Error(finding)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, finding := range check(t, filepath.Join("testdata", "clean")) {
		t.Error(finding)
	}
}

// TestPlanted compares all findings in a tree full of violations with the
// comments beside them, "// want RULE RULE". No planted one may be missed and
// nothing else may be found.
func TestPlanted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "planted")
	want := wanted(t, dir)
	// These have no line, or no room on it.
	want = append(want, "core/tagged/named_plan9.go constraint", "core/tagged/planted.go constraint", "core/tagged/planted.go:1 constraint", "core/language/l.s language",
		"reducer/codes.go constraint", "reducer/codes.go:1 constraint", "reducer/texts.go:1 constraint")
	var got []string
	for _, finding := range check(t, dir) {
		where := finding.Pos.Filename
		if finding.Pos.Line > 0 {
			where += ":" + strconv.Itoa(finding.Pos.Line)
		}
		got = append(got, where+" "+finding.Rule)
	}
	slices.Sort(want)
	slices.Sort(got)
	for _, missed := range subtract(want, got) {
		t.Errorf("planted, not found: %s", missed)
	}
	for _, extra := range subtract(got, want) {
		t.Errorf("found, not planted: %s", extra)
	}
	// Every rule there is must have been shown to fire.
	for _, rule := range []string{
		"import", "time", "clock", "goroutine", "channel", "map-range", "variable", "panic", "recover",
		"close", "println", "float", "math", "assertion", "binary", "constraint", "language", "types",
	} {
		if !slices.ContainsFunc(got, func(found string) bool { return strings.HasSuffix(found, " "+rule) }) {
			t.Errorf("rule %q never fired", rule)
		}
	}
}

// TestPlantedAlone plants one violation in an otherwise clean tree, as a
// careless change would.
func TestPlantedAlone(t *testing.T) {
	t.Parallel()
	for rule, body := range map[string]string{
		"time":      "import \"time\"\n\nfunc now() int64 { return time.Now().UnixNano() }",
		"goroutine": "func start(f func()) { go f() }",
		"map-range": "func sum(m map[int]int) (n int) {\n\tfor _, v := range m {\n\t\tn += v\n\t}\n\treturn n\n}",
		"variable":  "var calls int\n\nfunc count() int { calls++; return calls }",
		"channel":   "func wait(c <-chan int) {}",
		"import":    "import _ \"sync\"",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "clean"))); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "core", "leaf", "planted.go")
			if err := os.WriteFile(file, []byte("package leaf\n\n"+body+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			findings := check(t, dir)
			if len(findings) == 0 {
				t.Fatalf("the planted %s was not found", rule)
			}
			for _, finding := range findings {
				if finding.Rule != rule || finding.Pos.Filename != "core/leaf/planted.go" {
					t.Errorf("not planted: %v", finding)
				}
			}
		})
	}
}

func TestNoModule(t *testing.T) {
	t.Parallel()
	if _, err := purity.Check(t.TempDir()); err == nil {
		t.Fatal("want an error for a folder without go.mod")
	}
}

func check(t *testing.T, dir string) []purity.Finding {
	t.Helper()
	findings, err := purity.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

var wantComment = regexp.MustCompile(`// want ([a-z -]+)$`)

func wanted(t *testing.T, dir string) (want []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(source), "\n") {
			if match := wantComment.FindStringSubmatch(line); match != nil {
				for _, rule := range strings.Fields(match[1]) {
					want = append(want, filepath.ToSlash(rel)+":"+strconv.Itoa(i+1)+" "+rule)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// subtract returns a without the elements of b, counting repeats.
func subtract(a, b []string) []string {
	b = slices.Clone(b)
	return slices.DeleteFunc(slices.Clone(a), func(element string) bool {
		i := slices.Index(b, element)
		if i >= 0 {
			b = slices.Delete(b, i, i+1)
		}
		return i >= 0
	})
}
