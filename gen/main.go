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
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the files below the root of the repository that differ.
func write(root string) error {
	all, err := files(root)
	if err != nil {
		return err
	}
	for _, f := range all {
		path := filepath.Join(root, f.path)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, f.text) {
			continue
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
