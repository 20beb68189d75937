package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
)

//go:embed equivalent.txt
var equivalentText string

// equivalents are mutants by id, with the reason why no test can catch them.
type equivalents map[string]string

func readEquivalents() (equivalents, error) { return parseEquivalents(equivalentText) }

// parseEquivalents reads lines with an id below the line with their reason, which
// begins with a #. A reason holds for all lines up to the next one.
func parseEquivalents(text string) (equivalents, error) {
	known, reason := equivalents{}, ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			reason = ""
		case strings.HasPrefix(line, "#"):
			reason = strings.TrimSpace(line[1:])
		case reason == "":
			return nil, fmt.Errorf("equivalent.txt:%d: a mutant without a reason above it", i+1)
		case known[line] != "":
			return nil, fmt.Errorf("equivalent.txt:%d: listed twice", i+1)
		default:
			known[line] = reason
		}
	}
	return known, nil
}

// check reports what is listed and is no mutant of the packages, nor in a file of
// another one.
func (e equivalents) check(packages []*unit, all []*mutant) error {
	files, ids := map[string]bool{}, map[string]bool{}
	for _, p := range packages {
		for _, f := range p.files {
			files[f.path] = true
		}
	}
	for _, m := range all {
		ids[m.id()] = true
	}
	var stale []string
	for id := range e {
		file, _, _ := strings.Cut(id, " ")
		if _, err := os.Stat(file); err != nil || files[file] && !ids[id] {
			stale = append(stale, id)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	slices.Sort(stale)
	return fmt.Errorf("equivalent.txt lists what is no mutant any more:\n%s", strings.Join(stale, "\n"))
}

// count returns how many of some mutants are listed.
func (e equivalents) count(all []*mutant) (n int) {
	for _, m := range all {
		if e[m.id()] != "" {
			n++
		}
	}
	return n
}
