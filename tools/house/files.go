package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sort of a file: who writes it, and what for.
type sort string

// The sorts of files.
const (
	product   sort = "product"
	proof     sort = "proof"
	docs      sort = "docs"
	generated sort = "generated"
	data      sort = "goldens, samples, modules"
	other     sort = "build and tools"
)

var sorts = []sort{product, proof, docs, generated, data, other}

// file is one file of the checkout, with the path from its root.
type file struct {
	path string
	sort sort
	text []byte
}

// proofs are the folders whose product files are there to prove something.
var proofs = []string{"internal/oracle", "internal/random", "internal/script", "internal/hosttest", "wasm/hosttest", "internal/toy", "internal/purity", "internal/testenv", "internal/proof",
	"proptest", "fuzz", "linearizability", "reducer/explore", "vectors", "bench", "sim/simtest", "proxywasm/host", "examples", "js/test", "js/packed", "js/bench"}

var generatedHeader = regexp.MustCompile(`(?m)^// .*(DO NOT EDIT|do not edit)\.?$`)

// sortOf says what a file is.
func sortOf(name string, text []byte) sort {
	base := path.Base(name)
	switch ext := path.Ext(name); {
	case strings.Contains(name, "testdata/") || slices.Contains([]string{".wasm", ".json", ".jsonl", ".svg", ".png", ".txt", ".html", ".yaml", ".yml"}, ext) && ext != "":
		return data
	case ext == ".md":
		return docs
	case ext != ".go" && ext != ".ts":
		return other
	case generatedHeader.Match(text):
		return generated
	case strings.HasSuffix(base, "_test.go") || strings.HasSuffix(base, ".test.ts"):
		return proof
	}
	for _, folder := range proofs {
		if strings.HasPrefix(name, folder) {
			return proof
		}
	}
	if strings.HasPrefix(name, "tools/") || strings.Contains(name, "/gen/") || strings.HasPrefix(name, "gen/") {
		return other
	}
	return product
}

// files returns the files of the checkout, or the files of it that a commit changed.
func (h *house) files(commit string) (all []file, err error) {
	args := []string{"-C", h.root, "ls-files"}
	if commit != "" {
		args = []string{"-C", h.root, "show", "--format=", "--name-only", "--diff-filter=d", commit}
	}
	listed, err := exec.Command("git", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	for _, name := range strings.Fields(string(listed)) {
		var text []byte
		if commit != "" {
			text, err = exec.Command("git", "-C", h.root, "show", commit+":"+name).Output()
		} else {
			text, err = os.ReadFile(filepath.Join(h.root, name))
		}
		if err != nil {
			return nil, err
		}
		all = append(all, file{name, sortOf(name, text), text})
	}
	return all, nil
}

// print prints how many files there are of each sort.
func (h *house) print(title string, files []file) {
	for _, s := range sorts {
		var names []string
		for _, f := range files {
			if f.sort == s {
				names = append(names, f.path)
			}
		}
		h.row(title+": "+string(s), len(names), names)
	}
}

// lines counts the lines of Go and TypeScript.
func (h *house) lines(files []file) error {
	for _, s := range []sort{product, generated, proof} {
		n := 0
		for _, f := range files {
			if f.sort == s {
				n += bytes.Count(f.text, []byte("\n"))
			}
		}
		h.row("lines: "+string(s), n, nil)
	}
	return nil
}

// list counts what lies in the root.
func (h *house) list(files []file) error {
	var own, tests []string
	for _, f := range files {
		switch {
		case strings.Contains(f.path, "/") || path.Ext(f.path) != ".go":
		case strings.HasSuffix(f.path, "_test.go"):
			tests = append(tests, f.path)
		default:
			own = append(own, f.path)
		}
	}
	h.row("root list: product files", len(own), own)
	h.row("root list: test files", len(tests), tests)
	return nil
}
