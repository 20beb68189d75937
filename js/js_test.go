// Package js_test runs the tests of the npm package as tests of the workspace:
// what vitest counts is what `go test` counts.
package js_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tools installs the pinned tools, and installed builds the package besides, both once
// however often the tests run.
var (
	tools = sync.OnceValue(func() error {
		return npm(".", "install", "--no-audit", "--no-fund", "--loglevel=error")
	})
	installed = sync.OnceValue(func() error {
		if err := tools(); err != nil {
			return err
		}
		return npm(".", "run", "build", "--silent")
	})
)

type failure struct{ args, output string }

func (f *failure) Error() string { return "npm " + f.args + ": " + f.output }

func npm(dir string, args ...string) error {
	cmd := exec.Command("npm", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return &failure{strings.Join(args, " "), err.Error() + "\n" + string(out)}
	}
	return nil
}

// example runs the browser test of the example, and bench runs each case of the
// benchmarks for a moment, both once.
var (
	example = sync.OnceValue(func() error {
		const dir = "../examples/browser"
		if err := npm(dir, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
			return err
		}
		return npm(dir, "test", "--silent")
	})
	bench = sync.OnceValue(func() error {
		if err := npm("bench", "install", "--no-audit", "--no-fund", "--loglevel=error"); err != nil {
			return err
		}
		return npm("bench", "run", "--silent", "check")
	})
)

// ready skips where there is no Node, installs and builds.
func ready(t *testing.T) {
	t.Helper()
	prepared(t, installed)
}

// prepared skips where there is no Node, and prepares.
func prepared(t *testing.T, prepare func() error) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on PATH: install Node 20 or newer to test the npm package", program)
		}
	}
	if err := prepare(); err != nil {
		t.Fatal(err)
	}
}

// report is what vitest writes with --reporter=json.
type report struct {
	Files []struct {
		Name, Status, Message string
		Tests                 []struct {
			Name     string   `json:"fullName"`
			Status   string   `json:"status"`
			Failures []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// suite runs vitest by a script of package.json, once.
func suite(script string) func() (*report, error) {
	return sync.OnceValues(func() (*report, error) {
		dir, err := os.MkdirTemp("", "sluice-js")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "report.json")
		ran := npm(".", "run", "--silent", script, "--", "--reporter=json", "--outputFile="+file)
		src, err := os.ReadFile(file)
		if err != nil {
			// Without a report what npm said is all there is.
			return nil, ran
		}
		r := &report{}
		return r, json.Unmarshal(src, r)
	})
}

var (
	source = suite("test")
	packed = suite("test:packed")
)

func show(t *testing.T, run func() (*report, error)) {
	t.Helper()
	ready(t)
	r, err := run()
	if err != nil || r == nil || len(r.Files) == 0 {
		t.Fatalf("%v: no report", err)
	}
	for _, file := range r.Files {
		t.Run(filepath.Base(file.Name), func(t *testing.T) {
			if file.Status != "passed" && file.Message != "" {
				t.Error(file.Message)
			}
			for _, test := range file.Tests {
				t.Run(test.Name, func(t *testing.T) {
					switch test.Status {
					case "passed":
					case "failed":
						t.Error(strings.Join(test.Failures, "\n"))
					default:
						t.Skip(test.Status)
					}
				})
			}
		})
	}
}

// TestSource runs the unit tests, of the sources and of what is built.
func TestSource(t *testing.T) { show(t, source) }

// TestExample drives the page of examples/browser in a browser.
func TestExample(t *testing.T) {
	ready(t)
	if err := example(); err != nil {
		t.Fatal(err)
	}
}

// TestBench runs each benchmark for a moment, so that all of them work.
func TestBench(t *testing.T) {
	ready(t)
	if err := bench(); err != nil {
		t.Fatal(err)
	}
}

// TestPacked installs the tarball into fresh projects and uses it there.
func TestPacked(t *testing.T) { show(t, packed) }
