package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what lint prints to testdata")

// TestLint compares the reports of the samples and of testdata/lint, as text
// and as JSON, with those of testdata/lint. Look at what -rewrite changes.
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
// warnings.
func TestSamplesAreClean(t *testing.T) {
	for _, name := range []string{"vendor", "short", "tenants"} {
		if code, stdout, _ := run("", "lint "+samples+"/"+name+".yaml"); code != ExitOK {
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
