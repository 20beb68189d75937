package main

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed refusal.go.txt
var refusal string

// refusals are the documents whose open breaker refuses the call: what follows the breaker decides
// whether the call is one of the fast ones.
var refusals = []struct{ name, document string }{
	{"refusal of an open breaker", `{"steps":[{"breaker":{"window":{"consecutive":5},"open":"1h"}}]}`},
	{"refusal of an open breaker above a hedge", `{"steps":[{"breaker":{"window":{"consecutive":5},"open":"1h"}},{"hedge":{"after":"10s"}}]}`},
}

// moves counts the functions that one refused call runs, by the coverage of that call.
func (h *house) moves([]file) error {
	folder, err := os.MkdirTemp(filepath.Join(h.root, ".cache"), "house")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(refusal), 0o600); err != nil {
		return err
	}
	program := filepath.Join(folder, "refusal")
	if _, err := h.command("go", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./"+filepath.Join(".cache", filepath.Base(folder))); err != nil {
		return err
	}
	for i, r := range refusals {
		counters := filepath.Join(folder, fmt.Sprint(i))
		if err := os.Mkdir(counters, 0o700); err != nil {
			return err
		}
		if _, err := h.command(program, r.document, counters); err != nil {
			return err
		}
		text, err := h.command("go", "tool", "covdata", "func", "-i", counters)
		if err != nil {
			return err
		}
		var functions []string
		files := map[string]bool{}
		for _, line := range strings.Split(text, "\n") {
			found := covered.FindStringSubmatch(line)
			if found == nil || strings.HasPrefix(found[1], ".cache/") {
				continue
			}
			files[found[1]] = true
			functions = append(functions, found[1]+" "+found[2])
		}
		if len(functions) == 0 {
			return fmt.Errorf("no function in\n%s", text)
		}
		h.row(r.name+": functions", len(functions), functions)
		h.row(r.name+": files", len(files), slices.Sorted(maps.Keys(files)))
	}
	return nil
}

// covered is a line of a function that ran.
var covered = regexp.MustCompile(`^` + module + `/(\S+?):\d+:\s+(\S+)\s+([1-9][0-9.]*|0\.[0-9]*[1-9][0-9]*)%`)

func (h *house) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = h.root
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+os.TempDir())
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text), nil
}
