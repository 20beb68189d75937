// Command gen writes js/src/generated/table.ts, the table of mechanisms and their
// settings for the reader of documents in JavaScript. go generate ./policy/settings
// runs it.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// scriptPath is the generated file, from the root of the repository.
const scriptPath = "js/src/generated/table.ts"

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the file below the root of the repository if it differs.
func write(root string) error {
	text, err := script()
	if err != nil {
		return err
	}
	path := filepath.Join(root, scriptPath)
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a source file
}
