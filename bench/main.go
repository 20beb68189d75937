// Command bench measures Sluice beside its peers and prints the table.
//
//	go run ./bench                    all cases, and writes bench/RESULTS.md and
//	                                  the figures of README.md
//	go run ./bench -run '^pipeline'   some of them, and writes nothing
//	go run ./bench -run 'breaker do' -alone -cpuprofile cpu.prof
//
// Each case is one operation, performed by Sluice and by every peer that offers it.
// The contenders of a case take turns, repetition by repetition, so that a machine
// that is busy for a while is busy for all of them; the medians are compared. The
// missed targets are at the end. They are not an error: times on a shared machine
// vary.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	only       *regexp.Regexp
	each       time.Duration
	repeat     int
	alone      bool
	cpu        bool
	output     string
	readme     string
	cpuprofile string
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.cpuprofile != "" {
		file, err := os.Create(o.cpuprofile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	all := measure(cases(), o, stderr)
	fmt.Fprint(stdout, table(all))
	if o.output == "" {
		return nil
	}
	command := strings.TrimSpace("go run ./bench " + strings.Join(args, " "))
	return write(o, results(all, o, command), stderr)
}

// write writes the page of results, and README with its highlights.
func write(o options, page string, stderr io.Writer) error {
	if err := os.WriteFile(o.output, []byte(page), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "written:", o.output)
	if o.readme == "" {
		return nil
	}
	before, err := os.ReadFile(o.readme)
	if err != nil {
		return err
	}
	after, err := highlighted(string(before), page)
	if err != nil {
		return fmt.Errorf("%s: %w", o.readme, err)
	}
	if err := os.WriteFile(o.readme, []byte(after), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "written:", o.readme)
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&only, "run", "", "measure the cases whose names match this expression")
	f.DurationVar(&o.each, "time", 200*time.Millisecond, "time of one repetition")
	f.IntVar(&o.repeat, "repeat", 7, "repetitions")
	f.BoolVar(&o.alone, "alone", false, "measure Sluice without the peers")
	f.BoolVar(&o.cpu, "cpu", false, "compare processor time instead of wall time, for a machine that has other work")
	f.StringVar(&o.output, "o", "bench/RESULTS.md", "file for the results; not written beside -run or -alone")
	f.StringVar(&o.readme, "readme", "README.md", "file whose figures are replaced beside -o; empty for none")
	f.StringVar(&o.cpuprofile, "cpuprofile", "", "write a CPU profile to this file")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.repeat < 1 || o.each <= 0 || f.NArg() > 0 {
		return o, fmt.Errorf("-repeat and -time are more than 0, and there are no other arguments")
	}
	if only != "" || o.alone {
		o.output, o.readme = "", ""
	}
	if _, ok := processor(); o.cpu && !ok {
		return o, fmt.Errorf("-cpu: this system does not report the processor time")
	}
	var err error
	o.only, err = regexp.Compile(only)
	return o, err
}
