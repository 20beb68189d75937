// Command house counts what growth of this repository costs: how many places name a mechanism,
// what a setting changes, how wide the contract of a machine is, what a refused call runs.
//
//	house                    all counts of this tree
//	house -C ../other        of another checkout
//	house -mechanism chaos   the places of another mechanism than adaptive
//	house -commit HASH       the files that a commit changes, by what they are
//	house -v                 with the files behind the counts
//
// The counts are exact: they need no quiet machine and no peer.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// house is what all counts read.
type house struct {
	root      string
	mechanism string
	verbose   bool
	out       io.Writer
}

func main() {
	h := house{out: os.Stdout}
	flag.StringVar(&h.root, "C", ".", "the root of the checkout")
	flag.StringVar(&h.mechanism, "mechanism", "adaptive", "whose places are counted")
	flag.BoolVar(&h.verbose, "v", false, "print the files behind the counts")
	commit := flag.String("commit", "", "count the files of a commit and nothing else")
	flag.Parse()
	if err := h.run(*commit); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func (h *house) run(commit string) error {
	files, err := h.files(commit)
	if err != nil {
		return err
	}
	if commit != "" {
		h.print("files of the commit", files)
		return nil
	}
	for _, count := range []func([]file) error{h.lines, h.places, h.switches, h.list, h.contract, h.moves} {
		if err := count(files); err != nil {
			return err
		}
	}
	return nil
}

// row prints one count, and with -v what is behind it.
func (h *house) row(name string, n int, behind []string) {
	fmt.Fprintf(h.out, "%-64s%6d\n", name, n)
	if h.verbose && len(behind) > 0 {
		fmt.Fprintln(h.out, "\t"+strings.Join(behind, "\n\t"))
	}
}
