// Command testsum reads what go test -json prints, shows it as go test would,
// and ends with the line "N passed, N failed" alone.
//
//	go test -json ./... | testsum
//
// A test counts once, with its subtests, however often -count runs it; it
// failed when any run did. A package that fails without a failed test (it does
// not build, it panics, it times out) counts as one failed.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

type key struct{ pkg, test string }

// summary is the fold of all events.
type summary struct {
	tests  map[key]string      // worst end of each test: pass, skip, fail
	output map[key][]string    // what each running test printed
	failed map[string]bool     // packages with a failed test
	builds map[string][]string // what the compiler said
	broken int                 // packages that failed without one
	out    *bufio.Writer
}

func newSummary(out *bufio.Writer) *summary {
	return &summary{
		tests: map[key]string{}, output: map[key][]string{}, failed: map[string]bool{},
		builds: map[string][]string{}, out: out,
	}
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	s := newSummary(out)
	err := s.read(os.Stdin)
	ok := s.print()
	if err != nil {
		fmt.Fprintln(out, "testsum:", err)
	}
	if out.Flush() != nil || err != nil || !ok {
		os.Exit(1)
	}
}

func (s *summary) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(s.out, string(line))
			} else {
				s.fold(e)
			}
			if e.Test == "" { // a package began or ended: show it at once
				if err := s.out.Flush(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *summary) fold(e event) {
	at := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		s.builds[e.ImportPath] = append(s.builds[e.ImportPath], e.Output)
	case "output":
		s.output[at] = append(s.output[at], e.Output)
	case "pass", "skip", "fail":
		if e.Test != "" {
			s.endTest(at, e.Action)
		} else {
			s.endPackage(e)
		}
	}
}

// endTest keeps the worst end and shows what a failed test printed.
func (s *summary) endTest(at key, action string) {
	rank := []string{"", "pass", "skip", "fail"}
	if slices.Index(rank, action) > slices.Index(rank, s.tests[at]) {
		s.tests[at] = action
	}
	if action == "fail" {
		s.failed[at.pkg] = true
		s.show(at)
	}
	delete(s.output, at)
}

// endPackage shows the package's own lines: ok, FAIL, no test files, and what
// the tests that never ended had printed.
func (s *summary) endPackage(e event) {
	if e.Action == "fail" && !s.failed[e.Package] {
		s.broken++
		for _, line := range s.builds[e.FailedBuild] {
			fmt.Fprint(s.out, line)
		}
	}
	if e.Action == "fail" {
		var open []key
		for at := range s.output {
			if at.pkg == e.Package && at.test != "" {
				open = append(open, at)
			}
		}
		slices.SortFunc(open, func(a, b key) int { return cmp.Compare(a.test, b.test) })
		for _, at := range open {
			s.show(at)
			delete(s.output, at)
		}
	}
	at := key{e.Package, ""}
	for _, line := range s.output[at] {
		// go test without -v says neither of these.
		if line == "PASS\n" || e.Action != "fail" && strings.HasPrefix(line, "-test.shuffle ") {
			continue
		}
		fmt.Fprint(s.out, line)
	}
	delete(s.output, at)
}

func (s *summary) show(at key) {
	for _, line := range s.output[at] {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(s.out, line)
		}
	}
}

// print writes the summary and reports success: something passed and
// nothing failed.
func (s *summary) print() bool {
	passed, failed, skipped := 0, s.broken, 0
	for _, end := range s.tests {
		switch end {
		case "pass":
			passed++
		case "skip":
			skipped++
		case "fail":
			failed++
		}
	}
	if skipped > 0 {
		fmt.Fprintf(s.out, "%d skipped\n", skipped)
	}
	if passed+failed == 0 {
		fmt.Fprintln(s.out, "no test ran")
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", passed, failed)
	return passed > 0 && failed == 0
}
