package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// tidy runs go mod tidy in every module of go.work. Outside the workspace, as
// go mod tidy works, the repository's own modules come from a proxy of the
// working tree. Their checksums are not kept: they change with every file.
func tidy(root string, out io.Writer) error {
	version, err := check(root)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "sluice-tidy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	m, err := newMachine(root, version, temporary)
	if err != nil {
		return err
	}
	work, err := readWork(root)
	if err != nil {
		return err
	}
	for _, dir := range workspace(work) {
		fmt.Fprintln(out, "go mod tidy in", dir)
		cmd := m.command("empty", []string{"GOFLAGS=-modcacherw"}, "mod", "tidy")
		cmd.Dir = filepath.Join(root, dir)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go mod tidy in %s: %w\n%s", dir, err, text)
		}
		if err := dropOwn(filepath.Join(root, dir, "go.sum")); err != nil {
			return err
		}
	}
	return nil
}

// dropOwn removes the lines of the repository's own modules from a go.sum.
func dropOwn(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(src)) {
		if module, _, _ := strings.Cut(line, " "); !own(module) {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(name, []byte(kept.String()), 0o644)
}
