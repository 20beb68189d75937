// Package examples runs the example programs.
package examples

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestExamples runs every program and looks for what it is there to show.
func TestExamples(t *testing.T) {
	shows := map[string]string{
		"limiter":     "call 4 allowed: false",
		"httpclient":  "refused by the breaker: open",
		"httpserver":  "tenant a: 429",
		"workerpool":  "jobs done: 100",
		"virtualtime": "open",
	}
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		name := folder.Name()
		if name == "browser" {
			continue // of the npm package, whose tests drive it
		}
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command("go", "run", "./"+name).CombinedOutput()
			if want := shows[name]; err != nil || want == "" || !strings.Contains(string(out), want) {
				t.Errorf("%v: %q is not shown:\n%s", err, want, out)
			}
		})
	}
}
