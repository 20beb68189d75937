// Command gen writes the table of package mechanisms.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/internal/mechanismtable"
)

func main() {
	root := filepath.Join("..", "..")
	entries, err := mechanismtable.Entries(root)
	if err != nil {
		log.Fatal(err)
	}
	table, err := mechanismtable.Write(entries)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, mechanismtable.File), table, 0o600); err != nil {
		log.Fatal(err)
	}
}
