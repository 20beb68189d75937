// Command envoy measures the filter for Envoy beside Envoy's own local rate limit, no
// filter, and filters in modules that do nothing.
//
//	go run ./bench/envoy                      prints the tables
//	go run ./bench/envoy -o bench/envoy/RESULTS.md
//
// Each contender is an Envoy of its own with four workers. The contenders of a table take
// turns, round by round, each under wrk with kept connections; the tables have medians of
// the rounds, and ratios as medians of those within a round. wrk runs on the same machine
// and takes processor time from Envoy; the tables have its share.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/internal/envoy"
)

// options are the flags.
type options struct {
	rounds      int
	each        time.Duration
	accuracy    time.Duration
	connections int
	output      string
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench/envoy:", err)
		os.Exit(2)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench/envoy", flag.ExitOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 7, "how many `times` each contender takes its turn")
	flags.DurationVar(&o.each, "each", 2*time.Second, "how long a turn takes, in whole seconds")
	flags.DurationVar(&o.accuracy, "accuracy", 20*time.Second, "how long each limit is overloaded to count what it admits, in whole seconds; 0 for not at all")
	flags.IntVar(&o.connections, "connections", 64, "connections of wrk")
	flags.StringVar(&o.output, "o", "", "write the tables to this `file`, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w, err := newWRK()
	if err != nil {
		return err
	}
	version, err := envoy.Version()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "%s\n", head(o, w, version, strings.Join(args, " ")))
	for _, t := range tables() {
		lines, err := t.measure(o, w, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", t.title, err)
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n%s", t.title, t.text, lines)
	}
	if o.accuracy > 0 {
		lines, err := accuracy(o, w, stderr)
		if err != nil {
			return fmt.Errorf("accuracy: %w", err)
		}
		page.WriteString(lines)
	}
	if _, err := stdout.Write(page.Bytes()); err != nil {
		return err
	}
	if o.output == "" {
		return nil
	}
	return os.WriteFile(o.output, page.Bytes(), 0o644)
}
