// Command gen writes the numbers of the ABI for other languages and for people:
// js/src/generated/abi.ts, and the generated sections of wasm/ABI.md and wasm/PLAN.md. go
// generate ./wasm/abi runs it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the files below the root of the repository that differ.
func write(root string) error {
	files, err := files(root)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(root, f.path)
		if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, f.text) {
			continue
		}
		if err := os.WriteFile(path, f.text, 0o644); err != nil { //nolint:gosec // a source file
			return err
		}
	}
	return nil
}

// file is a generated file: its path from the root of the repository, and its
// text.
type file struct {
	path string
	text []byte
}

func files(root string) ([]file, error) {
	exports, err := readExports(filepath.Join(root, "wasm/entry"))
	if err != nil {
		return nil, err
	}
	all := []file{{scriptPath, script(exports)}}
	for _, p := range pageSections {
		page, err := os.ReadFile(filepath.Join(root, p.path))
		if err != nil {
			return nil, err
		}
		if page, err = pageWith(page, p.path, p.sections); err != nil {
			return nil, err
		}
		all = append(all, file{p.path, page})
	}
	return all, nil
}
