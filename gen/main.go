package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// file is a generated file: its path from the root of the repository, and its text.
type file struct {
	path string
	text []byte
}

// generators return the files, from the sources below the root of the repository.
var generators = []func(root string) ([]file, error){settings, table, types}

func main() {
	to := "."
	if len(os.Args) > 1 {
		to = os.Args[1]
	}
	if err := write(".", to); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the files that differ below a folder, which is the root of the repository unless
// the command has an argument.
func write(root, to string) error {
	all, err := files(root)
	if err != nil {
		return err
	}
	for _, f := range all {
		path := filepath.Join(to, f.path)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, f.text) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // sources
			return err
		}
		if err := os.WriteFile(path, f.text, 0o644); err != nil { //nolint:gosec // a source file
			return err
		}
		fmt.Println("wrote", f.path)
	}
	return nil
}

// files returns what all generators make.
func files(root string) (all []file, err error) {
	for _, g := range generators {
		more, err := g(root)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}
