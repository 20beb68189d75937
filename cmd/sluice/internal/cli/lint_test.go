package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
)

var rewrite = flag.Bool("rewrite", false, "write what lint prints to testdata")

// TestLint compares the reports of the samples and of testdata/lint, as text
// and as JSON, with the findings of testdata/lint. Read the difference after -rewrite.
func TestLint(t *testing.T) {
	golden, err := filepath.Abs("testdata/lint")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob(samples + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(golden + "/*.yaml")
	if err != nil || len(own) == 0 || len(documents) == 0 {
		t.Fatalf("%d samples, %d documents: %v", len(documents), len(own), err)
	}
	for _, document := range append(documents, own...) {
		name := filepath.Base(document)
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Dir(document))
			code, stdout, stderr := run("", "lint "+name)
			compare(t, filepath.Join(golden, strings.TrimSuffix(name, ".yaml")+".txt"), exitLine(code)+stdout+stderr)
			jsonCode, stdout, stderr := run("", "lint --json "+name)
			if jsonCode != code || stderr != "" || !json.Valid([]byte(stdout)) {
				t.Errorf("--json: code %d, want %d, stderr %q", jsonCode, code, stderr)
			}
			compare(t, filepath.Join(golden, strings.TrimSuffix(name, ".yaml")+".json"), stdout)
		})
	}
}

func exitLine(code int) string { return "exit code " + string(rune('0'+code)) + "\n" }

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-rewrite writes it):\n%s\nwant:\n%s", filepath.Base(file), got, want)
	}
}

// TestSamplesAreClean makes sure that a document which follows the rules has no
// warnings. One of them lets requests pass that no route matches.
func TestSamplesAreClean(t *testing.T) {
	for _, name := range []string{"vendor", "short", "tenants"} {
		if code, stdout, _ := run("", "lint --allow no-default-route "+samples+"/"+name+".yaml"); code != ExitOK {
			t.Errorf("%s: code %d\n%s", name, code, stdout)
		}
	}
}

// TestLintFlags checks --name and --allow.
func TestLintFlags(t *testing.T) {
	file := samples + "/tenants.yaml"
	_, stdout, _ := run("", "lint --name login "+file)
	if strings.Contains(stdout, "policy api") || !strings.Contains(stdout, "policy login") || !strings.HasSuffix(stdout, "1 policy, 0 warnings, 2 notes\n") {
		t.Errorf("got %s", stdout)
	}
	src := "version: 1\npolicies: {p: {steps: [{bulkhead: 5}]}}"
	if code, _, _ := run(src, "lint -"); code != ExitWarnings {
		t.Errorf("code %d", code)
	}
	code, stdout, stderr := run(src, "lint --allow order,no-timeout -")
	if code != ExitOK || !strings.Contains(stdout, "note: a call can be held for ever") || stderr != "" {
		t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
	}
	if code, _, stderr := run(src, "lint --allow ordr -"); code != ExitBad || !strings.HasPrefix(stderr, "sluice: there is no rule \"ordr\"; ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
}

// TestLintResolved prints a document without extends, and its errors. What is printed is
// resolved.
func TestLintResolved(t *testing.T) {
	src := "version: 1\ndefaults: {limit: {burst: 2}}\npolicies:\n  a: {steps: [limit: 5/s]}\n  b: {extends: a, add: [retry: 3]}\n"
	want := `version: 1
policies:
  a:
    steps:
    - limit: {burst: 2, rate: 5/s}
  b:
    steps:
    - limit: {burst: 2, rate: 5/s}
    - retry: 3
`
	for _, stdin := range []string{src, want} {
		if code, stdout, stderr := run(stdin, "lint --resolved -"); code != ExitOK || stdout != want || stderr != "" {
			t.Errorf("code %d, stdout %s, stderr %s", code, stdout, stderr)
		}
	}
	for args, want := range map[string]string{
		"--resolved -":          "stdin:5:16: policies.b.extends: found the policy \"c\", which is not there; ",
		"--resolved - -":        "sluice: --resolved prints one document (",
		"--resolved --strict -": "sluice: --resolved has no other flags beside it (",
	} {
		code, stdout, stderr := run(strings.Replace(src, "extends: a", "extends: c", 1), "lint "+args)
		if code != ExitBad || stdout != "" || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: code %d, stdout %s, stderr %s", args, code, stdout, stderr)
		}
	}
}

// TestLintErrorsInJSON checks that the errors of a document are in the object,
// and that what is no error of a document is not.
func TestLintErrorsInJSON(t *testing.T) {
	files(t)
	code, stdout, stderr := run("", "lint --json wrong.yaml")
	var got struct {
		ExitCode int `json:"exit_code"`
		Errors   []struct {
			Line                  int
			Path, Nearest         string
			Message               string
			Found, Allowed, Extra string
		}
		Policies []any
	}
	if err := json.NewDecoder(bytes.NewReader([]byte(stdout))).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if code != ExitBad || got.ExitCode != ExitBad || stderr != "" || len(got.Errors) != 2 || got.Policies == nil || len(got.Policies) > 0 {
		t.Fatalf("code %d, stderr %q, got %+v", code, stderr, got)
	}
	if e := got.Errors[1]; e.Line != 6 || e.Nearest != "limit" || e.Path != "policies.p.steps[1].limt" || !strings.HasPrefix(e.Message, "wrong.yaml:6:9: ") {
		t.Errorf("got %+v", e)
	}
	if code, stdout, stderr := run("", "lint --json none.yaml"); code != ExitBad || stdout != "" || stderr != "sluice: cannot read none.yaml: no such file or directory\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestLintFormats compares the formats for code hosts, in which the errors of a
// document are findings too, and holds SARIF to its schema.
func TestLintFormats(t *testing.T) {
	golden, err := filepath.Abs("testdata/lint")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(golden)
	for _, name := range []string{"several", "wrong"} {
		want, _, _ := run("", "lint "+name+".yaml")
		for format, suffix := range map[string]string{"github": ".github", "sarif": ".sarif"} {
			code, stdout, stderr := run("", "lint --format "+format+" "+name+".yaml")
			if code != want || stderr != "" {
				t.Errorf("%s %s: code %d, want %d, stderr %q", format, name, code, want, stderr)
			}
			compare(t, filepath.Join(golden, name+suffix), stdout)
			if format != "sarif" {
				continue
			}
			report, err := sarif.FromString(stdout)
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Validate(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if code, _, stderr := run("", "lint --format xml several.yaml"); code != ExitBad || !strings.Contains(stderr, `there is no format "xml"; there is text, json, sarif, github`) {
		t.Errorf("code %d, stderr %s", code, stderr)
	}
}

// TestLintStrict makes errors of warnings, and of nothing else.
func TestLintStrict(t *testing.T) {
	src := "version: 1\npolicies: {p: {steps: [{bulkhead: 5}]}}"
	code, stdout, _ := run(src, "lint --strict -")
	if code != ExitBad || !strings.Contains(stdout, "warning: a call can be held for ever") {
		t.Errorf("code %d, stdout %s", code, stdout)
	}
	if code, _, _ := run(src, "lint --strict --allow no-timeout -"); code != ExitOK {
		t.Errorf("notes alone: code %d", code)
	}
	_, stdout, _ = run(src, "lint --strict --format github -")
	if !strings.HasPrefix(stdout, "::error file=stdin,line=2,col=12,title=no-timeout::policy p: ") {
		t.Errorf("got %s", stdout)
	}
	_, stdout, _ = run("version: 1\npolicies: {p: {steps: [{limit: {rate: 300000007/s, burst: 5}}]}}", "lint --format github -")
	if !strings.Contains(stdout, "which lowers the rate by 16.67 %25") {
		t.Errorf("no escapes in %s", stdout)
	}
}

// TestLintCompares compares two documents, as text and as JSON.
func TestLintCompares(t *testing.T) {
	golden, err := filepath.Abs("testdata/lint")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(golden)
	code, stdout, stderr := run("", "lint several.yaml other/several.yaml")
	if code != ExitOK || stderr != "" {
		t.Errorf("code %d, stderr %q", code, stderr)
	}
	compare(t, filepath.Join(golden, "other/several.txt"), stdout)
	code, stdout, _ = run("", "lint --strict --json several.yaml other/several.yaml")
	if code != ExitWarnings {
		t.Errorf("something is looser: code %d", code)
	}
	compare(t, filepath.Join(golden, "other/several.json"), stdout)
	if code, stdout, _ := run("", "lint --strict several.yaml several.yaml"); code != ExitOK || stdout != "several.yaml -> several.yaml: 0 looser, 0 tighter, 0 other\n" {
		t.Errorf("code %d, stdout %s", code, stdout)
	}
	for args, want := range map[string]string{
		"lint --format sarif several.yaml several.yaml": "two documents are compared as text or json, not as sarif",
		"lint - -":                     "one document at most can be standard input",
		"lint a b c":                   "lint needs one FILE, or two to compare, found 3",
		"lint several.yaml wrong.yaml": "wrong.yaml:",
		"lint -n none several.yaml other/several.yaml": "none",
	} {
		if code, stdout, stderr := run("", args); code != ExitBad || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
}
