package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Every contender of every case does what the case is about, once.
func TestCases(t *testing.T) {
	set(t, "1x")
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.measure(1, false)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.others) != len(c.peers) || r.own.ns <= 0 {
				t.Errorf("measured %v and %v", r.own, r.others)
			}
		})
	}
}

// set sets the time of a benchmark for one test.
func set(t *testing.T, benchtime string) {
	f := flag.Lookup("test.benchtime")
	before := f.Value.String()
	t.Cleanup(func() { _ = f.Value.Set(before) })
	if err := f.Value.Set(benchtime); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	set(t, "1x") // restored after what run sets
	var stdout, stderr strings.Builder
	if err := run([]string{"-run", "^limiter allow$", "-time", "1us", "-repeat", "1"}, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[1], "x/time/rate") || !strings.Contains(lines[1], ">= 2x, allocs <= 0") {
		t.Errorf("printed\n%s", stdout.String())
	}
	for _, args := range [][]string{{"-run", "("}, {"-repeat", "0"}, {"left"}, {"-unknown"}} {
		if err := run(args, &stdout, &stderr); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestResults(t *testing.T) {
	rows := []row{
		{task: task{name: "a", allocs: 0, peers: []peer{{name: "p", target: 2}}}, own: figure{ns: 10}, others: []figure{{ns: 15, bytes: 8, allocs: 1}}},
		{task: task{name: "b", allocs: -1}, own: figure{ns: 1000, allocs: 3}},
	}
	o := options{repeat: 7, each: time.Second, only: regexp.MustCompile("")}
	page := results(rows, o, "go run ./bench")
	for _, want := range []string{
		"| a | 10.0 | 0 | 0 | p | 15.0 | 8 | 1 | 1.50x | >= 2x, allocs <= 0 (missed) |",
		"| b | 1000 | 0 | 3 | - | - | - | - | - | - |",
		"`go run ./bench`", "- Machine: ", "Wall time; medians of 7 repetitions of 1s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
}

// What stands in RESULTS.md is of the present cases.
func TestResultsAreOfTheseCases(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(".", "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		for _, p := range c.peers {
			if !regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(c.name) + ` \|.*\| ` + regexp.QuoteMeta(p.name) + ` \|`).Match(page) {
				t.Errorf("%s beside %s is missing; run make bench", c.name, p.name)
			}
		}
	}
}
