package cli

import (
	"regexp"
	"strings"
	"testing"
)

var (
	simulated = regexp.MustCompile(`(?m)^    sluice (simulate --require .*)$`)
	shellWord = regexp.MustCompile(`'([^']*)'|\S+`)
)

// TestChoosingNumbers runs the commands of the guide about numbers: what it says about
// numbers that are right, too low and too high is required of the simulations.
func TestChoosingNumbers(t *testing.T) {
	t.Chdir("../../../..")
	page := read(t, "docs/choosing-numbers.md")
	lines := simulated.FindAllStringSubmatch(page, -1)
	if want := strings.Count(page, "<!-- table "); len(lines) != want || want == 0 {
		t.Fatalf("%d commands, %d tables", len(lines), want)
	}
	for _, line := range lines {
		var args []string
		for _, word := range shellWord.FindAllStringSubmatch(line[1], -1) {
			if word[1] != "" {
				word[0] = word[1]
			}
			args = append(args, word[0])
		}
		if code, stdout, stderr := runArgs("", args...); code != ExitOK || stderr != "" {
			t.Errorf("%q: code %d, stderr %q, stdout\n%s", args, code, stderr, stdout)
		}
	}
}
