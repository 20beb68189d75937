// Command draw runs the scenarios of the guides, and writes the pictures and the
// figures that the guides show of them:
//
//	go run ./docs/mechanisms/draw
//
// A guide says by comments what it shows. SCENARIO is a file of the directory
// scenarios beside the guide, without its suffix. A comment in front of a picture has the lanes of the
// picture, from top to bottom; one in front of a table the clients that are its columns
// and the figures that are its rows, which are named in figures.go; and one in front of
// a number in a sentence has a client and a figure:
//
//	<!-- picture SCENARIO: CLIENT LANE, CLIENT LANE -->
//	<!-- table SCENARIO: CLIENT, CLIENT: FIGURE, FIGURE -->
//	<!-- figure SCENARIO: CLIENT FIGURE -->
//
// A table and a number end with <!-- end -->. Equal scenarios give equal bytes on every
// platform. A test compares the files with what this command writes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for _, dir := range []string{"docs", filepath.Join("docs", "mechanisms")} {
		if err := write(dir); err != nil {
			fmt.Fprintln(os.Stderr, "draw:", err)
			os.Exit(1)
		}
	}
}

// write writes the guides of a directory and their pictures.
func write(dir string) error {
	files, err := draw(dir)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
