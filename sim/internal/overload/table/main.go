// Command table prints the table of adaptive limits in overload: a row for each list of
// settings that is given, of the defaults where none is.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/sluice-go/sluice/sim/internal/overload"
)

func main() {
	seeds := flag.Int("seeds", 2, "how many `seeds` each figure is the mean of")
	maximum := flag.Int("maximum", 1000, "the greatest `limit`")
	only := flag.String("only", "", "the names of the columns begin with this `prefix`")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: table [flags] [SETTINGS ...], as in 'tolerance: 20%, decrease: 20%'")
		flag.PrintDefaults()
	}
	flag.Parse()
	rows := flag.Args()
	if len(rows) == 0 {
		rows = []string{""}
	}
	if err := print(os.Stdout, rows, *only, *maximum, *seeds); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// result is the figure of a cell of the table.
type result struct {
	figure overload.Figure
	err    error
}

func print(out io.Writer, rows []string, only string, maximum, seeds int) error {
	var columns []overload.Column
	for _, c := range overload.Columns() {
		if strings.HasPrefix(c.Name, only) {
			columns = append(columns, c)
		}
	}
	sides := [...]overload.Side{overload.Service, overload.Client}
	results := make([]result, len(rows)*len(sides)*len(columns))
	var wait sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range results {
		turns <- struct{}{}
		wait.Go(func() {
			c, side, row := columns[i%len(columns)], sides[i/len(columns)%len(sides)], rows[i/len(columns)/len(sides)]
			settings := fmt.Sprintf("maximum: %d", maximum)
			if row != "" {
				settings += ", " + row
			}
			results[i].figure, results[i].err = c.Measure(side, settings, seeds)
			<-turns
		})
	}
	wait.Wait()
	fmt.Fprint(out, "| settings | side |")
	for _, c := range columns {
		fmt.Fprintf(out, " %s |", c.Name)
	}
	fmt.Fprintln(out, "\n|---|---|"+strings.Repeat("---|", len(columns)))
	for i, r := range results {
		if r.err != nil {
			return r.err
		}
		if i%len(columns) == 0 {
			name := rows[i/len(columns)/len(sides)]
			if name == "" {
				name = "defaults"
			}
			fmt.Fprintf(out, "| %s | %v |", name, sides[i/len(columns)%len(sides)])
		}
		mark := ""
		if !r.figure.Recovered {
			mark = " X"
		}
		fmt.Fprintf(out, " %.0f%s |", 100*r.figure.Goodput, mark)
		if i%len(columns) == len(columns)-1 {
			fmt.Fprintln(out)
		}
	}
	return nil
}
